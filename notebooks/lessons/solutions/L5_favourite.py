# The solution of L5_favourite, by the tags of its cells.

# %% prediction
prediction = 8.0


# %% fix
def corrected_case(judged, people, p):
    known = [(judge, person) for judge, person in zip(judged, people, strict=True) if person is not None]
    off = sum(judge - person for judge, person in known) / p
    return 50 * (sum(judged) - off) / len(judged)
