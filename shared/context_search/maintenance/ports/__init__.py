"""What has to leave, what is compared, and what is measured."""
