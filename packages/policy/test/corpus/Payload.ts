/**
 * A real error, and its expected classification.
 *
 * `recorded`: the text and fields of an error that was published in the issue `owner/repo#n`. A printed object is written as JSON again,
 * ids and long lists are shortened, a reset's time may be moved after `NOW`, and a status or a header that the report leaves out is taken
 * from the provider's pages. `constructed`: put together from what the page in `source` documents.
 */
import { defined, type Failure } from "@holdfast/wire"

export type Origin =
  | "openai"
  | "anthropic"
  | "google"
  | "openrouter"
  | "azure"
  | "groq"
  | "mistral"
  | "xai"
  | "deepseek"
  | "cloudflare"
  | "proxies"
  | "gateways"
  | "cohere"
  | "perplexity"
  | "zai"
  | "alibaba"
  | "moonshot"
  | "minimax"
  | "bedrock"
  | "huggingface"
  | "hosts"
  | "copilot"
  | "local"
  | "node"
  | "sdks"

export type Input =
  | {
      readonly via: "response"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | {
      readonly via: "stream"
      readonly event?: string
      readonly headers: Readonly<Record<string, string>>
      readonly data: string
    }
  /** A function, because errors carry stacks and identity. */
  | { readonly via: "thrown"; readonly error: () => unknown }

export interface Expected {
  readonly reason: Failure.Reason
  readonly retryable: boolean
  readonly status?: number
  readonly code?: string
  readonly message?: string
  readonly retryAfterMs?: number
  readonly scope?: Failure.Scope
  readonly defect?: true
}

export interface Payload {
  readonly id: string
  readonly origin: Origin
  readonly kind: "recorded" | "constructed"
  readonly source: string
  readonly input: Input
  readonly expected: Expected
}

type Given = Pick<Payload, "id" | "kind" | "source" | "expected">

/** The moment at which every payload of the corpus is classified: 2026-03-01T12:00:00Z. */
export const NOW = Date.UTC(2026, 2, 1, 12)

/** Short constructors for payloads of one origin. */
export const of = (origin: Origin) => ({
  /** An object as body is sent as JSON. */
  response: (
    given: Given & { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }
  ): Payload => ({
    origin,
    id: `${origin}-${given.id}`,
    kind: given.kind,
    source: given.source,
    input: { via: "response", status: given.status, headers: given.headers ?? {}, body: textOf(given.body) },
    expected: given.expected
  }),
  stream: (
    given: Given & { readonly data: unknown; readonly event?: string; readonly headers?: Record<string, string> }
  ): Payload => ({
    origin,
    id: `${origin}-${given.id}`,
    kind: given.kind,
    source: given.source,
    input: {
      via: "stream",
      headers: given.headers ?? {},
      data: textOf(given.data),
      ...defined({ event: given.event })
    },
    expected: given.expected
  }),
  thrown: (given: Given & { readonly error: () => unknown }): Payload => ({
    origin,
    id: `${origin}-${given.id}`,
    kind: given.kind,
    source: given.source,
    input: { via: "thrown", error: given.error },
    expected: given.expected
  })
})

/** An error with the fields that libraries add. */
export const errorWith = (message: string, fields: Record<string, unknown>, name = "Error"): Error =>
  Object.assign(new Error(message), { name }, fields)

const textOf = (body: unknown): string => (typeof body === "string" ? body : JSON.stringify(body))
