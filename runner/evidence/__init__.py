"""What can be read from failures and counts: signatures, roots, exact statistics, contrasts of sibling cells. Pure."""
