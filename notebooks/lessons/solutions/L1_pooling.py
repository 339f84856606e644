# The solution of L1_pooling, by the tags of its cells.

# %% prediction
prediction = 8.0


# %% fix
def my_score(verdicts):
    return 50 * verdicts.groupby("case_id")["label"].mean().mean()
