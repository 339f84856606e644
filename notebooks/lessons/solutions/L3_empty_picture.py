# The solution of L3_empty_picture, by the tags of its cells.

# %% prediction
prediction = 38.0


# %% fix
def by_polarity(verdicts):
    by_case = verdicts.groupby(["polarity", "case_id"])["label"].mean()
    return (50 * by_case.groupby("polarity").mean()).to_dict()
