/** Gives each client of a run a provider of its own, so that one client's outage is no other's. */
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Login from "./Login.ts"
import type { LoginHost } from "./LoginHost.ts"

/** A member of a run. */
export interface Member {
  readonly client: Client
  readonly endpoint: Endpoint.Endpoint
  /** The name of its provider in the service's configuration. */
  readonly provider: string
  /** Its login, and what it needs to renew it. */
  readonly login?: { readonly login: Login.Login; readonly env: Readonly<Record<string, string>> }
}

/** Gives each client a provider, and a login if it has one, which its client believes to end at a time. */
export const ofEach = (
  clients: ReadonlyArray<Client>,
  host: LoginHost,
  endsAt: number
): Promise<ReadonlyArray<Member>> =>
  Promise.all(
    clients.map(async (client, index) => {
      const login = client.vendor && host.login(client.vendor, endsAt)
      const isGood = login && ((authorization?: string) => Login.isGood(login, authorization))
      return {
        client,
        provider: `p${index}`,
        endpoint: await Endpoint.start(client.format, client.isCounted, isGood),
        ...(login === undefined ? {} : { login: { login, env: host.env } })
      }
    })
  )

/** Their providers, as the service's configuration has them. */
export const providers = (members: ReadonlyArray<Member>): object =>
  Object.fromEntries(
    members.map(({ client, endpoint, provider }) => [
      provider,
      { type: client.type, baseUrl: `${endpoint.url}${client.base ?? ""}` }
    ])
  )
