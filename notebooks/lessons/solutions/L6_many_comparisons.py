# The solution of L6_many_comparisons, by the tags of its cells.

# %% prediction
prediction = 80.0


# %% fix
def my_holm(p):
    adjusted, least = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
        least = max(least, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = least
    return adjusted
