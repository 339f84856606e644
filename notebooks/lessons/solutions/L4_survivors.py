# The solution of L4_survivors, by the tags of its cells.

# %% prediction
prediction = 6.0


# %% fix
def compare_systems(a, b):
    both = [one - other for one, other in zip(a, b, strict=True) if one is not None and other is not None]
    difference = sum(both) / len(both) if both else None
    ranges = [[(score, score) if score is not None else (0, 100) for score in scores] for scores in (a, b)]
    lows = [one[0] - other[1] for one, other in zip(*ranges, strict=True)]
    highs = [one[1] - other[0] for one, other in zip(*ranges, strict=True)]
    return difference, sum(lows) / len(lows), sum(highs) / len(highs)
