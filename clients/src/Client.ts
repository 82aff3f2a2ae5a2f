/** A client under test: how it is started with another base URL, and what is known of it. */
import type { Asked, Format, ToolCall } from "./formats/Format.ts"
import type { Vendor } from "./Login.ts"

/** What a client is started with. */
export interface Place {
  /** The base URL that stands for its provider's. */
  readonly url: string
  /** Its home and its working directory, which are its own. */
  readonly home: string
  readonly folder: string
  /** A port that is free for it. */
  readonly port: number
}

/** How a client is started. */
export interface Start {
  readonly command: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Files below its home. */
  readonly files?: Readonly<Record<string, string>>
}

/** A client. */
export interface Client {
  readonly name: string
  /** Its package on npm, whose version is in the record. */
  readonly packages: ReadonlyArray<string>
  readonly format: Format
  /** The type of its provider in Holdfast's configuration. */
  readonly type: "openai-compatible" | "anthropic" | "openai-responses" | "gemini"
  /** The provider's base URL, below the address of the endpoint. */
  readonly base?: string
  readonly start: (place: Place, prompt: string) => Start
  /** The vendor of its login, which it has in place of a key. */
  readonly vendor?: Vendor
  /** The tool by which it runs a command in its shell, and the tool's input. Absent: it has no tools in this mode. */
  readonly shell?: (command: string) => ToolCall
  /** The tool by which it starts a subagent, and waits for it unless it is in the background. Absent: it has none. */
  readonly subagent?: (prompt: string, isInBackground: boolean) => ToolCall
  /** How it is started in a terminal, with a command for its status line. Absent: it has none. */
  readonly interactive?: (place: Place, prompt: string, statusLine: string) => Start
  /** Whether a request is of the turn itself: clients ask for titles and the like beside it. */
  readonly isCounted?: (asked: Asked) => boolean
  /** Whether it repeats a call whose connection breaks: never, as long as it has no head of an answer, or after it, too. */
  readonly repeats: "never" | "before the head" | "always"
}

/** The key that clients send: it passes through and is never stored. */
export const KEY = "sk-of-the-client-0123456789"
