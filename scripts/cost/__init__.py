"""What a deployment costs a month: a model of the bill, tested against an emulated month."""
