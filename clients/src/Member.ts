/** A client with a provider of its own: what one client's outage is, is no other's. */
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"

/** A member of a run. */
export interface Member {
  readonly client: Client
  readonly endpoint: Endpoint.Endpoint
  /** The name of its provider in the service's configuration. */
  readonly provider: string
}

/** Gives each client a provider. */
export const ofEach = (clients: ReadonlyArray<Client>): Promise<ReadonlyArray<Member>> =>
  Promise.all(
    clients.map(async (client, index) => ({
      client,
      provider: `p${index}`,
      endpoint: await Endpoint.start(client.format, client.isCounted)
    }))
  )

/** Their providers, as the service's configuration has them. */
export const providers = (members: ReadonlyArray<Member>): object =>
  Object.fromEntries(
    members.map(({ client, endpoint, provider }) => [
      provider,
      { type: client.type, baseUrl: `${endpoint.url}${client.base ?? ""}` }
    ])
  )
