"""What passes and their managers are."""
