# The solution of L7_goodhart, by the tags of its cells.

# %% prediction
prediction = 10.0


# %% fix
def honest(judge, other):
    picked = judge.idxmax(axis=1)
    return sum(other.loc[case_id, candidate] for case_id, candidate in picked.items()) / len(picked)
