/** The names of providers in targets: the configured one, or that of calls with a client's own key. */

/** The provider of a call that is sent with the client's own key: its limits and pauses concern no call with another key. */
export const withClientKey = (provider: string): string => provider + CLIENT_KEY

/** The configured name of a provider. */
export const configured = (provider: string): string =>
  provider.endsWith(CLIENT_KEY) ? provider.slice(0, -CLIENT_KEY.length) : provider

/** Whether calls of this provider are sent with the client's own key. */
export const hasClientKey = (provider: string): boolean => provider.endsWith(CLIENT_KEY)

// --- internal

/** No configured name ends so. */
const CLIENT_KEY = "~client"
