/** One call for a model's answer: its request as it came, and the request of each attempt. */
import type { Dialect } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import type { Target } from "@holdfast/wire"
import { Redacted, type Schema } from "effect"
import * as ProviderName from "../text/ProviderName.ts"
import * as Address from "./Address.ts"
import * as CallBody from "./CallBody.ts"
import * as Credentials from "../redaction/Credentials.ts"
import * as Secrets from "../redaction/Secrets.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Headers from "./Headers.ts"
import { createHash } from "node:crypto"
import { KEY_LENGTH } from "../storage/HeldCallIds.ts"

/** A call. */
export interface GatedCall {
  /** The configured name of the provider that its address names. */
  readonly provider: string
  /** The path below the provider's base URL, with its query. */
  readonly rest: string
  /** As they came. */
  readonly headers: RawCall.RawHeaders
  readonly key: Exclude<Endpoints.Decision, { readonly _tag: "Refused" }>
  readonly dialect: Dialect.Dialect
  readonly asked: Dialect.Call
  /** Without its content coding. */
  readonly body: Buffer
  /** As it came; `undefined`: it has no coding. */
  readonly coded: Buffer | undefined
  /** The digest of a large body (`CallBody`). */
  readonly digest: string | undefined
  /** The `retry` settings that its address and headers name. */
  readonly retry: Schema.JsonObject | undefined
}

/** The target of its first attempt. */
export const targetOf = ({ asked, key, provider }: GatedCall): Target.Target => ({
  provider: key._tag === "Client" ? ProviderName.withClientKey(provider) : provider,
  model: asked.model ?? "unknown"
})

type Keyed = Pick<GatedCall, "body" | "digest" | "headers" | "provider" | "rest">

/**
 * Its key: by it a client that asks again goes on in the wait that it left. Clients repeat a call with the same body (`CallBody`); a client that sends
 * `Idempotency-Key` names its call itself. A client cannot join a call that has another credential. A small body is parsed again: kept, it would be
 * larger than the body.
 */
export const keyOf = (call: Keyed): string => keyFor(call, Credentials.inHeaders(call.headers))

/**
 * The key of a call of a session whose login may be renewed: the same after the renewal. `undefined`: its client names no session, or has a key
 * instead of a login. Names of sessions are chance, so no other client has one.
 */
export const sessionKeyOf = (call: Keyed & Pick<GatedCall, "key">): string | undefined => {
  const isLogin = call.key._tag === "Client" && Headers.valuesOf(call.headers, "authorization").length > 0
  return isLogin && valuesOf(call, SESSIONS).length > 0 ? keyFor(call, []) : undefined
}

/** What a person reads of it: the name of its client, never its body, and no query, which may have a key. */
export const title = ({ headers, rest }: GatedCall): string => {
  const [agent = ""] = Headers.valuesOf(headers, "user-agent")
  return `${/^[\w.-]{1,40}/u.exec(agent)?.[0] ?? "a client"}: POST ${Address.pathOf(rest)}`
}

/** The request of an attempt at a target; `undefined` if the target has no key. */
export const requestFor = (
  call: GatedCall,
  endpoints: Endpoints.Endpoints,
  target: Target.Target,
  credential: string | undefined
): RawCall.Request | undefined => {
  const endpoint = endpoints.get(ProviderName.configured(target.provider))
  if (endpoint === undefined) return undefined
  const isAsItCame = call.asked.model === undefined || call.asked.model === target.model
  const left = isAsItCame ? ["content-length"] : ["content-length", "content-encoding"]
  const own = Headers.without(Headers.ofRequest(call.headers), left)
  const headers = ProviderName.hasClientKey(target.provider)
    ? own
    : Endpoints.keyed(endpoint, call.key._tag === "Holdfast" ? call.key.in : "authorization", own, credential)
  if (headers === undefined) return undefined
  const { body, target: rest } = isAsItCame
    ? { body: call.coded ?? call.body, target: call.rest }
    : call.dialect.withModel({ body: call.body, target: call.rest }, target.model)
  return { url: Address.below(endpoint.baseUrl, rest), method: "POST", headers, body: Buffer.from(body) }
}

/** Whether the request can be sent to another target: the provider has the same wire format. */
export const fits = (call: GatedCall, endpoints: Endpoints.Endpoints, target: Target.Target): boolean => {
  const [from, to] = [endpoints.get(call.provider), endpoints.get(ProviderName.configured(target.provider))]
  return (
    to !== undefined &&
    (from === to ||
      (from?.config.type === to.config.type && (call.asked.format !== "gemini" || to.config.type === "gemini")))
  )
}

/** Removes the client's own credentials from a text, too. */
export const concealed = (
  { headers, rest }: GatedCall,
  redact: (text: string) => string
): ((text: string) => string) => {
  let own: ((text: string) => string) | undefined
  return (text) => {
    own ??= Secrets.conceal(Credentials.secretsOf(headers, rest).map((secret) => Redacted.make(secret)))
    return own(redact(text))
  }
}

// --- internal

const valuesOf = ({ headers }: Keyed, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => Headers.valuesOf(headers, name))

const keyFor = (call: Keyed, credentials: ReadonlyArray<string>): string => {
  const { body, digest, provider, rest } = call
  const named = valuesOf(call, ["idempotency-key"])
  const content = named.length > 0 ? named : (digest ?? CallBody.digestOf(CallBody.parse(body)))
  const parts = [`${provider} ${rest}`, credentials, valuesOf(call, SESSIONS), content]
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, KEY_LENGTH)
}

/** Headers by which clients name the session of a call. */
const SESSIONS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"]
