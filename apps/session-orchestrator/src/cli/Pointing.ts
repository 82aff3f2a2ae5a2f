/** Points a client at Holdfast: the provider that its calls go to, its base URL there, and what it is started with. */
import { JsonShape } from "@holdfast/wire"
import { Effect, FileSystem } from "effect"
import type { Values } from "../config/Config.ts"
import * as Upstreams from "../gateway/Upstreams.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import type * as Clients from "./connect/Clients.ts"

/** `--provider` and `--profile`, the same for every command that points a client at Holdfast. */
export const flags = {
  provider: Declaration.text("provider", "NAME", "Another provider of the configuration than the program's own"),
  profile: Declaration.profile("Retry profile of its calls")
}

/** How a client's calls pass through Holdfast. */
export type Pointing = Effect.Success<ReturnType<typeof of>>

/** What is asked for. */
interface Wanted {
  readonly config: Pick<Values, "providers">
  readonly home: string | undefined
  readonly profile: string | undefined
  /** Absent: that of the client, by its login. */
  readonly provider: string | undefined
  /** The address of the service. */
  readonly service: string
}

/** Points a client at a provider of the configuration. One of a format that the client does not call in is refused. */
export const of = Effect.fnUntraced(function* (client: Clients.Program, wanted: Wanted) {
  const { config, home, profile, service } = wanted
  const { formats, name, path = "", variables = [] } = client
  const provider = wanted.provider ?? (yield* providerOf(client, home))
  const { baseUrl, type } = yield* endpointOf(config, provider)
  if (formats?.includes(type) === false) {
    return yield* Refused.usage(
      `${name} calls in the format ${formats.join(" or ")}, and ${JSON.stringify(provider)} has ${type}. Nothing is translated: name a provider of that format.`
    )
  }
  const address = `${service}/to/${provider}${profile === undefined ? "" : `@${profile}`}`
  return {
    provider,
    /** Its base URL. OpenCode's adapter for OpenAI adds no version, as the SDK of OpenAI. */
    url: address + (provider === client.provider ? path : ""),
    /** What it needs beside that. */
    variables: variables.filter(({ origin }) => origin === undefined || originOf(baseUrl) === origin)
  }
})

/** The endpoint of a provider of the configuration; another name is refused. */
export const endpointOf = (config: Wanted["config"], provider: string): Effect.Effect<Upstreams.Upstream, Refused> => {
  const endpoints = Upstreams.of(config)
  const known = Array.from(endpoints.keys()).join(", ")
  const words = `The configuration has no provider ${JSON.stringify(provider)} with a base URL. It has ${known}.`
  return Effect.mapError(Effect.fromNullishOr(endpoints.get(provider)), () => Refused.usage(words))
}

/** What a client is started with; `undefined`: it has its base URL in its own configuration alone. */
export const startOf = ({ start }: Clients.Program, { provider, url, variables }: Pointing) => {
  const { args = [], environment = {} } = start?.(url, provider) ?? {}
  const beside = Object.fromEntries(variables.map(({ name, value }) => [name, value]))
  return start && { args, environment: { ...beside, ...environment } }
}

/** The line that starts a client in a shell; `undefined`: there is none. */
export const line = (client: Clients.Program, pointing: Pointing): string | undefined => {
  const start = startOf(client, pointing)
  if (start === undefined) return undefined
  const set = Object.entries(start.environment).map(([name, value]) => `${name}=${quoted(value)}`)
  return [...(client.isLibrary === true ? ["export", ...set] : [...set, client.name]), ...start.args].join(" ")
}

// --- internal

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)

const quoted = (value: string): string => (/^[\w:/.@%~-]*$/u.test(value) ? value : `'${value}'`)

/** The provider that a client calls with the login that it has. A login that cannot be read is none. */
const providerOf = Effect.fnUntraced(function* ({ login, provider }: Clients.Program, home: string | undefined) {
  if (login === undefined || home === undefined) return provider
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(files.readFileString(`${home}/${login.file}`), () => "")
  return login.provider(JsonShape.parse(text)) ?? provider
})
