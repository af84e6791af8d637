"""What the integration, contract and chaos tests stand on: real servers, the service, clients, load, a cutting proxy."""
