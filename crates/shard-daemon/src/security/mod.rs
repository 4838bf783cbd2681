//! Who may talk to the daemon over the network: setup tokens, enrollment, cookies, tickets.
