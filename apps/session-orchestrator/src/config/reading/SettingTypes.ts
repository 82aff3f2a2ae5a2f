/**
 * Defines the types of settings: texts, numbers, addresses, names and secrets, each with the expectation that its message states.
 *
 * A pattern is the part of a check for editors (JSON Schema). It accepts every text that its check accepts.
 */
import { Checks, Target } from "@holdfast/wire"
import { Schema } from "effect"
import * as LocalTime from "../../base/text/LocalTime.ts"

/** Any text. */
export const text = (expected: string) => Schema.String.annotate({ message: `Expected ${expected}` })

/** A text of a pattern. */
export const matching = (pattern: RegExp, expected: string) =>
  text(expected).check(Schema.isPattern(pattern, { message: `Expected ${expected}` }))

/** A text that is not blank. */
export const filled = (expected: string) => matching(/\S/u, expected)

/** A text that code checks. */
export const checked = (isGood: (value: string) => boolean, pattern: string, expected: string) =>
  text(expected).check(
    Schema.makeFilter((value) => isGood(value) || `Expected ${expected}`, { toJsonSchema: () => [{ pattern }, true] }) // true: wider than the check
  )

/** A whole number from `least` to `most`. */
export const integer = (least: number, most: number, unit = "") =>
  whole(least, `Expected an integer${unit} from ${least} to ${most}`, most)

/** A whole number of bytes from 1024 to `most`. */
export const bytesUpTo = (most: number) => integer(1_024, most, " of bytes")

/** A whole number of `least` or more. */
export const integerFrom = (least: number, unit: string) =>
  whole(least, `Expected an integer of ${unit}, ${least} or more`)

const whole = (least: number, message: string, most?: number) =>
  Schema.Number.annotate({ message }).check(Schema.isInt({ message }), Checks.isWithin(least, message, most))

/** True or false. */
export const Switch = Schema.Boolean.annotate({ message: "Expected true or false" })

/** Characters. A shorter token could be guessed, and could not be redacted without false alarms. */
export const SHORTEST_TOKEN = 16

/** A secret is wrapped when it is read. Only this decoder has its plain text. */
export const Secret = text(`a string of at least ${SHORTEST_TOKEN} characters`)
  .check(
    Schema.isMinLength(SHORTEST_TOKEN, {
      message: `Expected a string of at least ${SHORTEST_TOKEN} characters`,
      // A header carries the token, so it is ASCII: JSON Schema, which counts code points, counts the same.
      toJsonSchema: () => ({ minLength: SHORTEST_TOKEN })
    })
  )
  .pipe(Schema.RedactedFromValue)

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u

/** The name of a variable. */
export const VariableName = matching(VARIABLE_NAME, "the name of an environment variable (not the key itself)")

/** The value of a header (RFC 9110, section 5.5): visible characters and blanks. A line break would start another header. */
export const HEADER_VALUE = /^[\x20-\x7e]*$/u

/** Names whose values are taken for secrets, of variables and of options. */
export const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|pat$/i

/** A record with a check of each key, under the key's own path. */
export const named = <V extends Schema.Constraint>(
  pattern: string,
  expected: string,
  value: V,
  isName: (name: string) => boolean = (name) => new RegExp(pattern, "u").test(name)
) =>
  Schema.Record(Schema.String, value).check(
    Schema.makeFilter(
      (record) =>
        Object.keys(record)
          .filter((name) => !isName(name))
          .map((name) => ({ path: [name], issue: `this name is not valid; expected ${expected}.` })),
      { toJsonSchema: () => ({ propertyNames: { pattern } }) }
    )
  )

/** Headers by name (RFC 9110, section 5.6.2). */
export const Headers = named(
  "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
  "a header: letters, digits and '-'",
  matching(HEADER_VALUE, "a header's value: printable ASCII on one line").pipe(Schema.RedactedFromValue)
)

/** Values of environment variables, by name. */
export const Variables = named(
  VARIABLE_NAME.source,
  "the name of an environment variable",
  text("a string").pipe(Schema.RedactedFromValue)
)

const TARGET = 'a provider and a model, such as "openai/gpt-5"'

const isTarget = (name: string): boolean => Target.parse(name) !== undefined

/** A `provider/model`. */
export const Model = checked(isTarget, Target.PATTERN, TARGET)

/** A record by `provider/model`. */
export const byModel = <V extends Schema.Constraint>(value: V) => named(Target.PATTERN, TARGET, value, isTarget)

/** The expectation of an address such as `example`, for messages. */
const addressLike = (example: string) =>
  `an http or https address such as "${example}", without a user and without a fragment`

/** The expectation of a provider's address. */
export const BASE_URL = addressLike("https://api.openai.com/v1")

/** The expectation of a collector's endpoint. */
export const OTLP_ENDPOINT = addressLike("http://127.0.0.1:4318")

/** The expectation of a webhook. */
export const WEBHOOK = 'http or https address, such as "https://hooks.example.org/services/..."'

/** Whether a text is an http or https address without a user and without a fragment. */
export const isBaseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return isWebhook(text) && url?.username === "" && url.password === "" && url.hash === ""
}

/** Whether a text is an http or https address, which a webhook may be. */
export const isWebhook = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "")

/** The beginning of addresses, in upper or lower case; `URL` ignores blanks before it. */
const HTTP = "^\\s*[Hh][Tt][Tt][Pp][Ss]?:"

/** The address of a provider. */
export const BaseUrl = checked(isBaseUrl, HTTP, BASE_URL)

/** The address of a collector of traces. */
export const OtlpEndpoint = checked(isBaseUrl, HTTP, OTLP_ENDPOINT)

/** The address of a tool server. */
export const ToolsUrl = checked(isBaseUrl, HTTP, addressLike("http://localhost:3001/mcp"))

/** A secret: every client with the address can post to it. */
export const Webhook = checked(isWebhook, HTTP, `an ${WEBHOOK}`).pipe(Schema.RedactedFromValue)

const ORIGIN_PATTERN = "^[a-z][a-z0-9+.-]*://[^/\\s*?#@]+$"

/** The origin of pages. Those of an app may have a scheme of their own. */
export const PageOrigin = checked(
  (text) => new RegExp(ORIGIN_PATTERN, "u").test(text) && (!/^https?:/.test(text) || URL.parse(text)?.origin === text),
  ORIGIN_PATTERN,
  'the origin of pages, such as "https://app.example.org": scheme, host and port as a browser sends them, without a path and without *'
)

/** The address of a database. It may contain a password. */
export const DatabaseUrl = checked(
  (text) => {
    const url = URL.parse(text)
    return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== "" && url.pathname.length > 1
  },
  "^\\s*[Pp][Oo][Ss][Tt][Gg][Rr][Ee][Ss](?:[Qq][Ll])?:",
  'the address of a PostgreSQL database, such as "postgres://user@host:5432/holdfast"'
).pipe(Schema.RedactedFromValue)

const RUNNER_PATTERN = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/u

/** Reads `host:port`; an IPv6 address is in brackets. */
export const parseRunner = (text: string): { readonly host: string; readonly port: number } | undefined => {
  const [, bracketed, plain, port] = RUNNER_PATTERN.exec(text) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** The address of a runner. */
export const RunnerAddress = checked(
  (text) => parseRunner(text) !== undefined,
  RUNNER_PATTERN.source,
  'a host and a port, such as "10.0.0.5:4748"'
)

/** A time of day of this machine's time zone. */
export const TimeOfDay = matching(LocalTime.DAILY, 'a time of day, such as "07:00"')

/** Each field of requests that an operator may not set, with the reason: Holdfast writes it, or it changes what Holdfast reads back. */
const RESERVED: ReadonlyMap<string, string> = new Map([
  ["model", "the turn's model goes there. Choose it with `model`, or by conversation"],
  ["messages", "the conversation goes there"],
  ["input", "the conversation goes there"],
  ["contents", "the conversation goes there"],
  ["system", "the conversation's system prompt goes there"],
  ["instructions", "the conversation's system prompt goes there"],
  ["systemInstruction", "the conversation's system prompt goes there"],
  ["previous_response_id", "Holdfast sends the whole conversation"],
  ["conversation", "Holdfast sends the whole conversation"],
  ["background", "Holdfast reads answers as streams only"],
  ["stream", "Holdfast reads answers as streams only"],
  ["n", "Holdfast reads one answer"],
  ["tools", 'the tools of the "tools" section go there'],
  ["functions", 'the tools of the "tools" section are offered instead'],
  ["function_call", 'the tools of the "tools" section are offered instead']
])

/** JSON that is merged into request bodies (RFC 7396). */
export const BodyFields = Schema.Record(Schema.String, Schema.Json)
  .annotate({ message: 'Expected an object of request fields, such as { "max_tokens": 500 }' })
  .check(
    Schema.makeFilter(
      (body) =>
        Object.keys(body).flatMap((field) => {
          const reason = RESERVED.get(field)
          return reason === undefined ? [] : [{ path: [field], issue: `this field cannot be set: ${reason}.` }]
        }),
      { toJsonSchema: () => ({ propertyNames: { not: { enum: Array.from(RESERVED.keys()) } } }) }
    )
  )
export type BodyFields = typeof BodyFields.Type

/** Arguments of a function of the AI SDK. They may contain keys. */
export const Options = Schema.Record(Schema.String, Schema.Json)
  .annotate({ message: 'Expected an object of options, such as { "region": "eu-central-1" }' })
  .pipe(Schema.RedactedFromValue)

/** Names of tools; `*` matches any text. */
export const ToolNames = Schema.Array(filled('a tool\'s name, or a pattern such as "read_*"'))

/** The fields that a template of notices may name. */
const NOTICE_FIELDS = "id type title text url provider model since at nextAt waiting failed reason".split(" ")

/** A field in a template. */
export const PLACEHOLDER = /\{\{\s*([a-zA-Z]+)\s*\}\}/g

/** The first braces that name no field, such as `{{env.KEY}}`: a mistake, because they would be sent as they stand. */
const unknownField = (template: string): string | undefined => {
  const rest = template.replaceAll(PLACEHOLDER, (braces, name: string) => (NOTICE_FIELDS.includes(name) ? "" : braces))
  return /\{\{[^{}]{0,40}(?:\}\})?/.exec(rest)?.[0]
}

const TEMPLATE = `a text with {{${NOTICE_FIELDS.join("}}, {{")}}}; in a JSON text values are escaped`

/** The formats of notices, by name. `ops/delivery/NoticeFormat.ts` writes them. */
export const NoticeFormatName = Schema.Literals(["json", "slack", "ntfy", "email", "template"]).annotate({
  message: 'Expected "json", "slack", "ntfy", "email" or "template"'
})

/** An e-mail address. */
export const EmailAddress = matching(/^[^\s<>,;"]+@[^\s<>,;"]+$/, 'an e-mail address, such as "oncall@example.org"')

/** The text of a notice, with fields. */
export const NoticeTemplate = text(TEMPLATE).check(
  Schema.isMinLength(1, { message: `Expected ${TEMPLATE}` }),
  Schema.makeFilter(
    (template) => {
      const unknown = unknownField(template)
      return unknown === undefined || `Expected ${TEMPLATE}; ${unknown} is none of these fields`
    },
    { toJsonSchema: () => [{ minLength: 1 }, true] } // true: wider than the check
  )
)

/** The format of a receiver, with what it needs. */
export type NoticeFormat =
  | "json"
  | "slack"
  | "ntfy"
  | { readonly email: { readonly from: string; readonly to: string } }
  | { readonly template: string }
