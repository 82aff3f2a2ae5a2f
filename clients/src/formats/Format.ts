/** What the scripted provider writes in one wire format: answers, and the errors that a provider sends. */

/** A call of a tool. */
export interface ToolCall {
  readonly name: string
  readonly input: object
}

/** What a model answers: a text, or calls of tools. */
export type Answer = { readonly text: string } | { readonly tools: ReadonlyArray<ToolCall> }

/** A request for a model's answer. */
export interface Asked {
  readonly path: string
  readonly body: { readonly [key: string]: unknown }
}

/** A wire format. */
export interface Format {
  /** Whether a path is that of a call for an answer. */
  readonly isCall: (path: string) => boolean
  readonly isStream: (asked: Asked) => boolean
  /** A good answer as a stream of frames. */
  readonly frames: (answer: Answer, model: string) => ReadonlyArray<string>
  /** The beginning of a stream, before there is anything of an answer. */
  readonly opening: (model: string) => string
  /** A good answer as one document. */
  readonly document: (answer: Answer, model: string) => object
  /** An overload as a frame inside a stream with status 200. */
  readonly errorFrame: string
  /** An error as a document. */
  readonly error: (status: number, message: string) => object
  /** A limit of a plan that ends at a time. */
  readonly limit: (
    until: number,
    now: number
  ) => { readonly headers: Readonly<Record<string, string>>; readonly body: object }
}

/** The model that a request names. */
export const modelOf = ({ body, path }: Asked): string =>
  typeof body["model"] === "string" ? body["model"] : (/models\/([^/:]+):/u.exec(path)?.[1] ?? "unknown")

/** Seconds from now to a time, as headers have them. */
export const secondsTo = (time: number, now: number): number => Math.max(1, Math.ceil((time - now) / 1_000))

/** A frame of a stream of events. */
export const data = (json: unknown): string => `data: ${JSON.stringify(json)}\n\n`

/** A frame whose event has the name of its type. */
export const named = (json: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${json.type}\n${data(json)}`

/** A text in two pieces: a client that shows only one of them is found. */
export const pieces = (text: string): ReadonlyArray<string> => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** Ids of answers, calls and items. */
export const id = (prefix: string): string => `${prefix}${++count}`

let count = 0
