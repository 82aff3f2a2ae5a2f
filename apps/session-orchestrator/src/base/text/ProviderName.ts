/** The names of providers in targets: the configured one, or that of calls with a client's own key. */

/** The provider of a call that is sent with the client's own key: its limits and pauses concern no call with another key. */
export const withClientKey = (provider: string): string => provider + CLIENT_KEY

/** The configured name of a provider. */
export const configured = (provider: string): string => provider.replace(OF_CLIENT, "")

/** Whether calls of this provider are sent with the client's own key. */
export const hasClientKey = (provider: string): boolean => provider.endsWith(CLIENT_KEY)

/** The provider of such calls of one account: its pauses are stored by this name. */
export const ofAccount = (provider: string, account: string): string => `${provider}:${account}`

/** The account of such a name. */
export const accountOf = (provider: string): string | undefined => OF_CLIENT.exec(provider)?.[1]

/** The names by which a person's `provider/model`, or provider, is known: that, and with the key of a client. */
export const namesOf = (model: string): readonly [own: string, ofClients: string] => {
  const [, provider = "", rest = ""] = /^([^/]*)(.*)$/su.exec(model) ?? []
  return [model, withClientKey(configured(provider)) + rest]
}

// --- internal

/** No configured name ends so. */
const CLIENT_KEY = "~client"

const OF_CLIENT = /~client(?::(.*))?$/su
