# The solution of L2_unreadable, by the tags of its cells.

# %% prediction
prediction = 16.0


# %% fix
def my_case(labels):
    read = [label for label in labels if label is not None]
    score = 50 * sum(read) / len(read) if read else None
    low = 50 * sum(read) / len(labels)
    return score, low, low + 100 * (len(labels) - len(read)) / len(labels)
