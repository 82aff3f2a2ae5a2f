/**
 * Redacts secrets in text that leaves this process or is stored: failures, logs, pages.
 *
 * - A known secret is found anywhere in a text: as it is, percent-encoded or JSON-escaped in whole or in part, and inside the base64 of a
 *   longer text (`Basic`, `Bearer` in base64), at any offset and in both alphabets.
 * - Text that looks like a secret is redacted too: keys of the usual shapes, `Bearer` and `Basic` credentials, values of headers and of
 *   query parameters that carry keys, a password in an address.
 * - Redacting a redacted text changes nothing, and JSON stays JSON.
 * - The patterns are compiled once. Redaction costs time that grows with the text, so it runs on failures and logs, not on tokens.
 */
import type { Proxies } from "@holdfast/providers/proxy"
import { Redaction } from "@holdfast/wire"
import { Context, Layer, Redacted } from "effect"
import * as PercentText from "../../base/text/PercentText.ts"
import { Config, type Values } from "../Config.ts"
import * as Credentials from "./Credentials.ts"

/** The text in place of a secret. */
export const { PLACEHOLDER } = Redaction

/** Characters of the shortest secret. */
export const SHORTEST_SECRET = Redaction.SHORTEST

/** Redacts text. */
export class Secrets extends Context.Service<
  Secrets,
  {
    /**
     * The text without secrets.
     *
     * **Gotchas**
     *
     * Redact first and shorten afterwards: half a key is not recognised. A secret shorter than `SHORTEST_SECRET` is not redacted.
     */
    readonly redact: (text: string) => string
  }
>()("@holdfast/session-orchestrator/config/Secrets") {}

/** Redacts the given secrets and the usual shapes. */
export const make = (secrets: Iterable<Redacted.Redacted>): Secrets["Service"] => {
  const known = conceal(secrets)
  return { redact: (text) => Redaction.keepingJson(known(text), redactShapes) }
}

/**
 * Redacts the given secrets and nothing else. For content, which may be about keys, so text that merely looks like a key must stay.
 *
 * An example is the output of a tool that prints its environment.
 */
export const conceal = (secrets: Iterable<Redacted.Redacted>): ((text: string) => string) => {
  const known = compile(Array.from(secrets, Redacted.value))
  if (known === undefined) return (text) => text
  const replaced = (text: string) => text.replace(known, (match: string, at: number) => standIn(text, match, at))
  return (text) => Redaction.keepingJson(text, replaced)
}

/** Redacts the usual shapes alone, before there is a configuration. */
export const shapes: Secrets["Service"] = { redact: (text) => redactShapes(text) }

/** Every secret of a configuration. */
export const ofConfig = (config: Values): ReadonlyArray<Redacted.Redacted> =>
  [
    ...(config.server.token === undefined ? [] : [Redacted.value(config.server.token)]),
    ...passwordsOf(config.database.url),
    ...Array.from(config.providers.values()).flatMap((provider) =>
      provider.type === "simulated"
        ? []
        : [
            ...provider.credentials.map(({ value }) => Redacted.value(value)),
            ...inHeaders(provider.headers),
            ...(provider.secrets ?? []).flatMap(bare),
            ...inAddress(provider.baseUrl)
          ]
    ),
    ...config.tools.flatMap(({ reach, secrets }) => [
      ...secrets.flatMap(bare),
      ...(reach.type === "http" ? inAddress(reach.url) : [])
    ]),
    ...(config.proxies === undefined ? [] : inProxies(Redacted.value(config.proxies))),
    ...inHeaders(config.telemetry.otlp?.headers),
    ...inAddress(config.telemetry.otlp?.url),
    ...inHeaders(config.telemetry.notifications?.webhook?.headers),
    ...inWebhook(config.telemetry.notifications?.webhook?.url),
    ...(config.webhooks === undefined ? [] : [Redacted.value(config.webhooks.secret)]),
    ...inWebhook(config.webhooks?.turnEnd)
  ].map((secret) => Redacted.make(secret))

/** Redacts the secrets of a configuration: compiled once for all that ask. */
export const of = (config: Values): Secrets["Service"] => {
  const known = compiled.get(config) ?? make(ofConfig(config))
  compiled.set(config, known)
  return known
}

/** Redacts the secrets of the configuration in force. */
export const layer: Layer.Layer<Secrets, never, Config> = Layer.effect(Secrets, Config.useSync(of))

// --- internal

const compiled = new WeakMap<Values, Secrets["Service"]>()

/** Configurable headers without a secret. The value of every other header is a secret, whatever its name. */
const HARMLESS_HEADERS = new Set([
  "accept",
  "anthropic-beta",
  "anthropic-version",
  "content-type",
  "http-referer",
  "openai-beta",
  "referer",
  "user-agent",
  "x-title"
])

const inHeaders = (headers: Readonly<Record<string, Redacted.Redacted>> = {}): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value]) => (HARMLESS_HEADERS.has(name.toLowerCase()) ? [] : bare(value)))

/** The path of a webhook is a secret: its token is part of the path, and every client with the path may post. */
const inWebhook = (address: Redacted.Redacted | undefined): ReadonlyArray<string> => {
  const text = address === undefined ? "" : Redacted.value(address)
  const url = URL.parse(text)
  return url === null ? [] : [text, `${url.pathname}${url.search}`, ...inAddress(text)]
}

/** A database's password, as the address has it and as it is sent. */
const passwordsOf = (url: Redacted.Redacted | undefined): ReadonlyArray<string> => {
  if (url === undefined) return []
  const { password, searchParams } = new URL(Redacted.value(url))
  return [password, PercentText.decodeOrKeep(password), searchParams.get("password") ?? ""]
}

/**
 * A proxy's password, as the address has it and as it is sent, alone and after its user. A user without a password is a token.
 */
const inProxies = ({ http, https }: Proxies): ReadonlyArray<string> =>
  [http, https].flatMap((address = "") => {
    const { password = "", username = "" } = URL.parse(address) ?? {}
    if (password === "") return [username, PercentText.decodeOrKeep(username)]
    const sent = PercentText.decodeOrKeep(password)
    return [password, sent, `${PercentText.decodeOrKeep(username)}:${sent}`]
  })

/** Query parameters without a secret. The value of every other parameter is a secret, whatever its name. */
const HARMLESS_PARAMETERS = new Set(["api-version"])

/** The parts of an address that may be keys: its user, its password and the values of its query. */
const inAddress = (address = ""): ReadonlyArray<string> => {
  const url = URL.parse(address)
  if (url === null) return []
  const parameters = Array.from(url.searchParams).filter(([name]) => !HARMLESS_PARAMETERS.has(name.toLowerCase()))
  return [url.username, url.password, ...parameters.map(([, value]) => value)]
}

/** A value, and what is after its scheme: `Bearer abc` is a secret as a whole, and so is `abc` alone. */
const bare = (value: Redacted.Redacted): ReadonlyArray<string> => {
  const text = Redacted.value(value)
  return [text, text.slice(text.indexOf(" ") + 1)]
}

/**
 * The replacement of a match. If the match begins with the second backslash of an escaped backslash, that backslash stays, because the
 * text would otherwise keep half of an escape.
 */
const standIn = (text: string, match: string, at: number): string => {
  let before = 0
  while (text[at - 1 - before] === "\\") before++
  return match.startsWith("\\") && before % 2 === 1 ? `\\${PLACEHOLDER}` : PLACEHOLDER
}

const compile = (secrets: ReadonlyArray<string>): RegExp | undefined => {
  const patterns = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // The longer first, so that a secret that begins with another one is redacted whole.
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => [anyEscape(secret), ...inBase64(secret)])
  return patterns.length === 0 ? undefined : new RegExp(Array.from(new Set(patterns)).join("|"), "g")
}

/** Matches each character as it is, percent-encoded, or escaped as in JSON. */
const anyEscape = (secret: string): string =>
  Array.from(secret, (character) => {
    const known = escapes.get(character)
    if (known !== undefined) return known
    const bytes = Array.from(new TextEncoder().encode(character), (byte) => `%${anyCase(byte, 2)}`).join("")
    const units = character.replaceAll(/[\s\S]/g, (unit) => `\\\\u${anyCase(unit.charCodeAt(0), 4)}`)
    const short = [JSON.stringify(character).slice(1, -1), character === "/" ? "\\/" : "", character === " " ? "+" : ""]
    // The longest first: a match must not leave the backslash of an escape behind.
    const plain = [...short, character].filter((form) => form !== "").toSorted((a, b) => b.length - a.length)
    const forms = `(?:${[bytes, units, ...new Set(plain.map(literal))].join("|")})`
    escapes.set(character, forms)
    return forms
  }).join("")

/** The forms of the characters of all secrets so far: few. */
const escapes = new Map<string, string>()

const anyCase = (code: number, digits: number): string =>
  code
    .toString(16)
    .padStart(digits, "0")
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const literal = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`)

/**
 * The patterns of a secret inside base64, one for each of the three offsets in a group. The characters at both ends are mixed with
 * their neighbours and left out of the pattern. A match extends to the end of the base64 text.
 */
const inBase64 = (secret: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].flatMap((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const encoded = Buffer.from(padded).toString("base64url")
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
    return core.length < SHORTEST_SECRET ? [] : [`${core.replaceAll(/[-_]/g, eitherAlphabet)}[A-Za-z0-9+/_=-]*`]
  })
}

const eitherAlphabet = (character: string): string => (character === "-" ? "[+-]" : "[/_]")

/**
 * Applied in this order. A value ends before a quote, a backslash, a bracket or a blank, so the text around it stays unchanged; `[`
 * ends it too, so a placeholder is not replaced again. A shape with a mark is searched in texts with that mark alone: the
 * search for it begins at every word.
 */
const SHAPES: ReadonlyArray<readonly [shape: RegExp, replacement: string, mark?: string]> = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek; Cerebras; Groq; xAI; Google; Hugging Face; Perplexity; Fireworks; GitHub; AWS.
  [/\b(?:sk|csk)-[A-Za-z0-9_-]{8,}/g, PLACEHOLDER],
  [/\b(?:gsk_|xai-|AIza|hf_|pplx-|fw_|gh[opsur]_|github_pat_|AKIA)[A-Za-z0-9_-]{12,}/g, PLACEHOLDER],
  // "Bearer token required" and "apiKey: unknown" are prose: a credential has a digit or is long.
  [/\b(Bearer|Basic)(\s+)(?=[^\s"'\\,;[\]]*\d|[^\s"'\\,;[\]]{24})[A-Za-z0-9._~+/=-]{6,}/gi, `$1$2${PLACEHOLDER}`],
  [
    new RegExp(
      String.raw`\b((?:${Credentials.HEADER})(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?(?:(?:Bearer|Basic)\s+)?)(?!Bearer\s|Basic\s)(?=[^\s"'\\,;[\]{}&]*\d|[^\s"'\\,;[\]{}&]{16})[^\s"'\\,;[\]{}&]{6,}`,
      "gi"
    ),
    `$1${PLACEHOLDER}`
  ],
  [new RegExp(String.raw`([?&](?:${Credentials.PARAMETER})=)[^&#\s"'\\<>[\]]+`, "gi"), `$1${PLACEHOLDER}`],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'\\[\]]{1,200}:)[^\s/@"'\\[\]]{1,200}(?=@)/gi, `$1${PLACEHOLDER}`, "://"]
]

const redactShapes = (text: string): string =>
  SHAPES.reduce(
    (text, [shape, replacement, mark]) =>
      mark === undefined || text.includes(mark) ? text.replace(shape, replacement) : text,
    text
  )
