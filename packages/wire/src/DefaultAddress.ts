/** Defines the address of a service that is not configured otherwise. */

/** The host: this machine alone. */
export const HOST = "127.0.0.1"

/** The port. */
export const PORT = 4747

/** The origin of the HTTP API. */
export const ORIGIN = `http://${HOST}:${PORT}`
