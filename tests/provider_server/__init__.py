"""Loopback servers that speak the providers' wire formats, for the true SDKs to talk to; a dialect a provider."""

from provider_server.base import Answer, ProviderServer, Seen

__all__ = ["Answer", "ProviderServer", "Seen"]
