"""What estimates return, and how they are asked for.

Read `result` first: everything else is what a result states (`facts`), how far its intervals reach (`intervals`), what
readers must know (`notes`), which shares near it could be true (`consistency`) and how it was asked for (`options`).
"""
