/** One call for a model's answer: its request as it came, and the request of each attempt. */
import type { Provider } from "@holdfast/kernel"
import type { Dialect } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { Labels, type Target } from "@holdfast/wire"
import { Redacted, Schema } from "effect"
import * as SpendLimits from "../config/limits/SpendLimits.ts"
import * as ProviderName from "../base/text/ProviderName.ts"
import * as Address from "./Address.ts"
import * as CallBody from "./CallBody.ts"
import * as Credentials from "../config/redaction/Credentials.ts"
import * as Secrets from "../config/redaction/Secrets.ts"
import * as Upstreams from "./Upstreams.ts"
import * as Headers from "./Headers.ts"
import { createHash } from "node:crypto"
import { CALL_LENGTH, KEY_LENGTH } from "../storage/HeldCallIds.ts"

/** A call. */
export interface GatedCall {
  /** The configured name of the provider that its address names. */
  readonly provider: string
  /** The path below the provider's base URL, with its query. */
  readonly rest: string
  /** As they came. */
  readonly headers: RawCall.RawHeaders
  readonly key: Exclude<Upstreams.CredentialOwner, { readonly _tag: "Refused" }>
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
 * `Idempotency-Key` names its call itself. A client cannot join a call that has another credential, unless both are logins of one session. A small
 * body is parsed again: kept, it would be larger than the body.
 */
export const keyOf = (call: Keyed): string => {
  const { body, digest, provider, rest } = call
  const named = valuesOf(call, ["idempotency-key"])
  const content = named.length > 0 ? named : (digest ?? CallBody.digestOf(CallBody.parse(body)))
  const parts = [`${provider} ${rest}`, valuesOf(call, SESSIONS), content]
  const digestOf = (parts: ReadonlyArray<unknown>) =>
    createHash("sha256").update(JSON.stringify(parts)).digest("base64url")
  const whole = digestOf([...parts, Credentials.inHeaders(call.headers)])
  return `${digestOf(parts).slice(0, CALL_LENGTH)}${whole.slice(0, KEY_LENGTH - CALL_LENGTH)}`
}

/** Whether its client may go on with another login: it has one, and names its session. Names of sessions are chance, so no other client has one. */
export const isRenewable = (call: Pick<GatedCall, "headers" | "key">): boolean =>
  call.key._tag === "Client" &&
  Headers.valuesOf(call.headers, "authorization").length > 0 &&
  valuesOf(call, SESSIONS).length > 0

/** What a person reads of it: the name of its client, never its body, and no query, which may have a key. */
export const title = (call: GatedCall): string => `${clientOf(call) || "a client"}: POST ${Address.pathOf(call.rest)}`

/** The name of the credential of an attempt for a report: that of Holdfast's key, or of the client's account. */
export const credentialName = (
  endpoints: Upstreams.Upstreams,
  { credential, target: { provider } }: Pick<Provider.ProviderRequest, "credential" | "target">,
  account: string | undefined
): string =>
  account === undefined
    ? (credential ?? endpoints.get(provider)?.credentials[0]?.name ?? "no key")
    : `client ${account}`

/** The session that its client names. */
export const sessionOf = (call: Pick<GatedCall, "headers">): string | undefined => valuesOf(call, SESSIONS)[0]

/** What a person finds it by, and limits of spending add up: `claude-cli`, `claude`, its session, and its client's account if it has one. */
export const tags = (call: Pick<GatedCall, "headers">, account: string | undefined): ReadonlyArray<string> => {
  const client = clientOf(call)
  const names = [client.toLowerCase(), /^[a-z]+/u.exec(client.toLowerCase())?.[0], account && `key:${account}`]
  return Array.from(new Set([SpendLimits.GATEWAY_TAG, ...names, ...valuesOf(call, SESSIONS)])).filter(
    Schema.is(Labels.Tag)
  )
}

/** The request of an attempt at a target; `undefined` if the target has no key. */
export const requestFor = (
  call: GatedCall,
  endpoints: Upstreams.Upstreams,
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
    : Upstreams.keyed(endpoint, call.key._tag === "Holdfast" ? call.key.in : "authorization", own, credential)
  if (headers === undefined) return undefined
  const { body, target: rest } = isAsItCame
    ? { body: call.coded ?? call.body, target: call.rest }
    : call.dialect.withModel({ body: call.body, target: call.rest }, target.model)
  return { url: Address.below(endpoint.baseUrl, rest), method: "POST", headers, body: Buffer.from(body) }
}

/** Whether the request can be sent to another target: the provider has the same wire format. */
export const fits = (call: GatedCall, endpoints: Upstreams.Upstreams, target: Target.Target): boolean => {
  const [from, to] = [endpoints.get(call.provider), endpoints.get(ProviderName.configured(target.provider))]
  return (
    to !== undefined &&
    (from === to || (from?.type === to.type && (call.asked.format !== "gemini" || to.type === "gemini")))
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

const clientOf = ({ headers }: Pick<GatedCall, "headers">): string =>
  /^[\w.-]{1,40}/u.exec(Headers.valuesOf(headers, "user-agent")[0] ?? "")?.[0] ?? ""

const valuesOf = ({ headers }: Pick<GatedCall, "headers">, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => Headers.valuesOf(headers, name))

/** Headers by which clients name the session of a call. */
const SESSIONS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"]
