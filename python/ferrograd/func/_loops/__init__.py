"""Loops and branches as single nodes of a graph, whose steps are programs.

A step is a function of tensors that returns a list of tensors. It is traced, and so is its derivative, which is a step
too: so derivatives of any order are loops and branches again.
"""
