"""What Java's collections decide: hash tables, tree bins, iteration orders; and sorts that follow them fast."""
