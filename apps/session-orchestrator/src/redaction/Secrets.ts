/**
 * Takes keys out of text that leaves this process or is written down: failures, logs, pages.
 *
 * K1. A known secret is found wherever it stands in a text: as it is, percent-encoded or JSON-escaped in whole or in part, and
 *     inside base64 of whatever it is part of (`Basic`, `Bearer` in base64), at any offset and in both alphabets.
 * K2. What only looks like a secret goes too: keys of the usual shapes, `Bearer` and `Basic` credentials, values of headers
 *     and of query parameters that carry keys, a password in an address.
 * K3. Redacting what is redacted changes nothing, and JSON stays JSON.
 * K4. The patterns are compiled once. Redaction costs time that grows with the text, so it runs on failures and logs, not
 *     on tokens.
 */
import { Context, Layer, Redacted } from "effect"
import { Config, type Values } from "../config/Config.ts"

/** What stands where a secret stood. */
export const PLACEHOLDER = "[redacted]"

/** Anything shorter is a placeholder (`none`, `ollama`): no secret, and taking it out would garble every text. */
export const SHORTEST_SECRET = 8

export class Secrets extends Context.Service<
  Secrets,
  {
    /**
     * The text without secrets.
     *
     * **Gotchas**
     *
     * Redact first and shorten afterwards: half a key is not recognised. A secret shorter than `SHORTEST_SECRET` is not
     * looked for.
     */
    readonly redact: (text: string) => string
  }
>()("@holdfast/session-orchestrator/config/Secrets") {}

/** Knows the given secrets, and the usual shapes. */
export const make = (secrets: Iterable<Redacted.Redacted>): Secrets["Service"] => {
  const known = conceal(secrets)
  return { redact: (text) => redactShapes(known(text)) }
}

/**
 * Takes the given secrets out, and nothing else: for content, in which what merely looks like a key may be what it is about.
 *
 * A tool that prints its environment is an example.
 */
export const conceal = (secrets: Iterable<Redacted.Redacted>): ((text: string) => string) => {
  const known = compile(Array.from(secrets, Redacted.value))
  if (known === undefined) return (text) => text
  return (text) => text.replace(known, (match: string, at: number) => standIn(text, match, at))
}

/** Knows the shapes alone: for what happens before there is a configuration. */
export const shapes: Secrets["Service"] = { redact: (text) => redactShapes(text) }

/** Every secret of a configuration. */
export const ofConfig = (config: Values): ReadonlyArray<Redacted.Redacted> => [
  ...(config.server.token === undefined ? [] : [config.server.token]),
  ...passwordsOf(config.database.url),
  ...Array.from(config.providers.values()).flatMap((provider) =>
    provider.type === "simulated"
      ? []
      : [
          ...provider.credentials.map(({ value }) => value),
          ...inHeaders(provider.headers),
          ...(provider.secrets ?? []).flatMap((value) => [value, ...withoutScheme(value)]),
          ...inAddress(provider.baseUrl)
        ]
  ),
  ...config.tools.flatMap(({ reach, secrets }) => [
    ...secrets.flatMap((value) => [value, ...withoutScheme(value)]),
    ...(reach.type === "http" ? inAddress(reach.url) : [])
  ]),
  ...inProxy(config.proxy?.http),
  ...inProxy(config.proxy?.https),
  ...inHeaders(config.telemetry.otlp?.headers ?? {}),
  ...inAddress(config.telemetry.otlp?.url ?? ""),
  ...inHeaders(config.telemetry.notifications?.webhook?.headers ?? {}),
  ...inWebhook(config.telemetry.notifications?.webhook?.url)
]

/** Knows the secrets of the configuration in force. */
export const layer: Layer.Layer<Secrets, never, Config> = Layer.effect(
  Secrets,
  Config.useSync((config) => make(ofConfig(config)))
)

// --- internal

/** Headers that people configure and that hold no secret. Every other header's value is one, whatever its name. */
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

const inHeaders = (headers: Readonly<Record<string, Redacted.Redacted>>): ReadonlyArray<Redacted.Redacted> =>
  Object.entries(headers)
    .filter(([name]) => !HARMLESS_HEADERS.has(name.toLowerCase()))
    .flatMap(([, value]) => [value, ...withoutScheme(value)])

/** Whoever knows the path of a webhook may post to it: the token is part of it. */
const inWebhook = (address: Redacted.Redacted | undefined): ReadonlyArray<Redacted.Redacted> => {
  const url = address === undefined ? null : URL.parse(Redacted.value(address))
  if (address === undefined || url === null) return []
  return [address, Redacted.make(`${url.pathname}${url.search}`), ...inAddress(url.href)]
}

/** A database's password, as it stands in the address and as it is sent. */
const passwordsOf = (url: Redacted.Redacted | undefined): ReadonlyArray<Redacted.Redacted> => {
  if (url === undefined) return []
  const { password, searchParams } = new URL(Redacted.value(url))
  return [password, percentDecoded(password), searchParams.get("password") ?? ""]
    .filter((text) => text !== "")
    .map((text) => Redacted.make(text))
}

/**
 * A proxy's password, as it stands in the address and as it is sent, alone and behind its user. A user without a password is a token.
 */
const inProxy = (address: Redacted.Redacted | undefined): ReadonlyArray<Redacted.Redacted> => {
  const url = address === undefined ? null : URL.parse(Redacted.value(address))
  if (url === null || url.username === "") return []
  const { password, username } = url
  if (password === "") return [username, percentDecoded(username)].map((text) => Redacted.make(text))
  const sent = percentDecoded(password)
  return [password, sent, `${percentDecoded(username)}:${sent}`].map((text) => Redacted.make(text))
}

const percentDecoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Parameters of addresses that hold no secret. Every other one's value is one, whatever its name. */
const HARMLESS_PARAMETERS = new Set(["api-version"])

/** What stands in an address where keys are put: its user and the values of its query. */
const inAddress = (address: string): ReadonlyArray<Redacted.Redacted> => {
  const url = URL.parse(address)
  if (url === null) return []
  const parameters = Array.from(url.searchParams).filter(([name]) => !HARMLESS_PARAMETERS.has(name.toLowerCase()))
  return [url.username, url.password, ...parameters.map(([, value]) => value)].map((secret) => Redacted.make(secret))
}

/** `Bearer abc` is a secret as a whole, and `abc` by itself is one too. */
const withoutScheme = (value: Redacted.Redacted): ReadonlyArray<Redacted.Redacted> => {
  const [, ...rest] = Redacted.value(value).split(" ")
  return rest.length === 0 ? [] : [Redacted.make(rest.join(" "))]
}

/**
 * A secret that begins with an escape is found where a backslash before it is what is escaped: that one has to stay, or the next one
 * would be half of an escape (K3).
 */
const standIn = (text: string, match: string, at: number): string => {
  let before = 0
  while (text[at - 1 - before] === "\\") before++
  return match.startsWith("\\") && before % 2 === 1 ? `\\${PLACEHOLDER}` : PLACEHOLDER
}

const compile = (secrets: ReadonlyArray<string>): RegExp | undefined => {
  const patterns = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    // The longer first, so that a secret that begins like another is taken whole.
    .toSorted((a, b) => b.length - a.length)
    .flatMap((secret) => [anyEscape(secret), ...inBase64(secret)])
  return patterns.length === 0 ? undefined : new RegExp(Array.from(new Set(patterns)).join("|"), "g")
}

/** Each character as it is, percent-encoded, or escaped as JSON has it. */
const anyEscape = (secret: string): string =>
  Array.from(secret, (character) => {
    const bytes = Array.from(new TextEncoder().encode(character), (byte) => `%${anyCase(byte, 2)}`).join("")
    const units = Array.from(
      { length: character.length },
      (_, i) => `\\\\u${anyCase(character.charCodeAt(i), 4)}`
    ).join("")
    const short = [JSON.stringify(character).slice(1, -1), character === "/" ? "\\/" : "", character === " " ? "+" : ""]
    // The longest first: what is taken of an escape must not leave a backslash behind.
    const plain = [...short, character].filter((form) => form !== "").toSorted((a, b) => b.length - a.length)
    return `(?:${[bytes, units, ...new Set(plain.map(literal))].join("|")})`
  }).join("")

const anyCase = (code: number, digits: number): string =>
  code
    .toString(16)
    .padStart(digits, "0")
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const literal = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`)

/**
 * What is left of a secret inside base64, for each of the three places where it may begin within a group. The characters at
 * both ends mix with their neighbours and are left out; what follows goes along up to the end of the run.
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
 * In this order. A value ends before a quote, a backslash, a bracket or a blank, so that the text around it stays what it was;
 * `[` ends it too, which keeps a placeholder from being replaced again (K3).
 */
const SHAPES: ReadonlyArray<readonly [RegExp, string]> = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek; Cerebras; Groq; xAI; Google; Hugging Face; Perplexity; Fireworks; GitHub; AWS.
  [/\b(?:sk|csk)-[A-Za-z0-9_-]{8,}/g, PLACEHOLDER],
  [/\b(?:gsk_|xai-|AIza|hf_|pplx-|fw_|gh[opsur]_|github_pat_|AKIA)[A-Za-z0-9_-]{12,}/g, PLACEHOLDER],
  // "Bearer token required" and "apiKey: unknown" are prose: a credential has a digit in it, or is long.
  [/\b(Bearer|Basic)(\s+)(?=[^\s"'\\,;[\]]*\d|[^\s"'\\,;[\]]{24})[A-Za-z0-9._~+/=-]{6,}/gi, `$1$2${PLACEHOLDER}`],
  [
    /\b((?:x-api-key|api[-_]?key|x-goog-api-key|proxy-authorization|authorization|x-auth-token|set-cookie|cookie)(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?(?:(?:Bearer|Basic)\s+)?)(?!Bearer\s|Basic\s)(?=[^\s"'\\,;[\]{}&]*\d|[^\s"'\\,;[\]{}&]{16})[^\s"'\\,;[\]{}&]{6,}/gi,
    `$1${PLACEHOLDER}`
  ],
  [/([?&](?:key|api[-_]?key|access_token|token|secret|signature|sig)=)[^&#\s"'\\<>[\]]+/gi, `$1${PLACEHOLDER}`],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'\\[\]]{1,200}:)[^\s/@"'\\[\]]{1,200}(?=@)/gi, `$1${PLACEHOLDER}`]
]

const redactShapes = (text: string): string =>
  SHAPES.reduce((text, [shape, replacement]) => text.replace(shape, replacement), text)
