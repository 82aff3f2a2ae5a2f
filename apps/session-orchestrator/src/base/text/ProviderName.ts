/**
 * The names of providers in targets. A call that the gateway sends with its client's own key has another name than the configured
 * provider, so what is learned of that key, its limits and pauses, holds for no call with another key.
 *
 * | name | of calls |
 * |---|---|
 * | `openai` | with the configured keys |
 * | `openai~client` | with a client's own key, in turns and in memory |
 * | `openai~client:ACCOUNT` | of one account, in the pauses that the database keeps (`Standings`) |
 */

/** The name for calls with a client's own key. */
export const withClientKey = (provider: string): string => provider + CLIENT_KEY

/** The configured name of a provider. */
export const configured = (provider: string): string => provider.replace(OF_CLIENT, "")

/** Whether a name in a turn is that of calls with a client's own key. */
export const hasClientKey = (provider: string): boolean => provider.endsWith(CLIENT_KEY)

/** The stored name: that of calls with a client's own key, with its account. */
export const ofAccount = (provider: string, account: string): string => `${provider}:${account}`

/** The account of a stored name. */
export const accountOf = (provider: string): string | undefined => OF_CLIENT.exec(provider)?.[1]

/** What a person's filter `provider/model`, or `provider`, has to find: that name, and the one for calls with a client's own key. */
export const namesOf = (model: string): readonly [own: string, ofClients: string] => {
  const [, provider = "", rest = ""] = /^([^/]*)(.*)$/su.exec(model) ?? []
  return [model, withClientKey(configured(provider)) + rest]
}

// --- internal

/** No configured name ends so. */
const CLIENT_KEY = "~client"

const OF_CLIENT = /~client(?::(.*))?$/su
