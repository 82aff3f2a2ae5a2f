/**
 * The permanent entries of a conversation on the screen, made from its events. Pure.
 *
 * Each text of an entry has passed `Foreign`. A manual retry leaves no entry of its own (rule M2): its turn has no prompt. A wait has
 * its warning once, over all connections: the event of a wait comes again after a reconnect.
 */
import { Failure, FilePart, Message, type TurnEvent } from "@holdfast/wire"
import * as Foreign from "../text/Foreign.ts"
import * as WaitText from "../wait/WaitText.ts"

/** A permanent part of the screen. */
export type Entry =
  | { readonly type: "prompt"; readonly text: string }
  | { readonly type: "answer"; readonly text: string }
  | { readonly type: "note"; readonly tone: NoteTone; readonly text: string }
  /** Text as it is, such as an explanation. */
  | { readonly type: "verbatim"; readonly text: string }

/** The kind of a note: a wait, a change, a failure, a remark. */
export type NoteTone = "wait" | "notice" | "failure" | "aside"

/** What the next entries depend on. */
export interface Seen {
  /** The wait that had its warning last. */
  readonly wait: SeenWait | undefined
  /** The turn whose chain of retries has failed: its end needs no further words. */
  readonly failedChain: string | undefined
  /** The error that came last, whose whole text a person may ask for. */
  readonly lastError: TurnEvent.ErrorEvent | TurnEvent.ProviderRetry | undefined
}

interface SeenWait extends Pick<TurnEvent.ProviderRetry, "turnId" | "attempt" | "retryAt"> {
  readonly asks: string | undefined
}

/** Before the first event. */
export const nothing: Seen = { wait: undefined, failedChain: undefined, lastError: undefined }

/** Takes an event, and returns its entries. */
export const take = (seen: Seen, event: TurnEvent.TurnEvent): readonly [Seen, ReadonlyArray<Entry>] => {
  switch (event.type) {
    case "message":
      return [seen, messageEntries(event.message)]
    case "tool-call":
      return [seen, [note("aside", `${event.toolName} ${brief(event.input)}`)]]
    case "provider-retry": {
      const { asks, attempt, retryAt, turnId } = event
      const before = seen.wait
      const isSame = before?.turnId === turnId && before.attempt === attempt && before.asks === asks?.because
      if (isSame && before.retryAt === retryAt) return [seen, []]
      const text = isSame ? `The wait ends at ${timeOf(retryAt)} now.` : WaitText.warning(event)
      // A question about tools follows no error.
      const lastError = asks?.because === "tools" ? seen.lastError : event
      const wait = { turnId, attempt, retryAt, asks: asks?.because }
      return [{ ...seen, wait, lastError }, [note("wait", text)]]
    }
    case "retry-end":
      return event.success
        ? [seen, []]
        : [{ ...seen, failedChain: event.turnId }, [note("failure", WaitText.ended(event))]]
    case "step-discarded":
      return [seen, [note("notice", event.message)]]
    case "model-change":
      return [seen, [note("notice", `Goes on with ${event.to} instead of ${event.from}.`)]]
    case "compaction":
      return [seen, [note("aside", "The conversation was too long: a summary stands for its older messages.")]]
    case "tools-missing": {
      const names = event.servers.map(({ message, server }) => `${server} (${message})`).join(", ")
      const what = event.until === undefined ? "Runs without the tools of" : "Waits for the tools of"
      return [seen, [note("notice", `${what} ${names}.`)]]
    }
    case "error":
      return [{ ...seen, lastError: event }, []]
    case "turn-end":
      return [seen, event.queued === true ? [] : endEntries(event, seen.failedChain === event.turnId)]
    default:
      return [seen, []]
  }
}

/** A note on one line. */
export const note = (tone: NoteTone, text: string): Entry => ({ type: "note", tone, text: Foreign.oneLine(text) })

/** A file of the model on one line: its kind, type, size and name. */
export const fileLine = (file: Message.ModelFile): string => Foreign.oneLine(FilePart.placeholderOf(file))

/** A text as it is. */
export const verbatim = (text: string): Entry => ({ type: "verbatim", text: Foreign.shown(text).trimEnd() })

// --- internal

const messageEntries = (message: Message.Message): ReadonlyArray<Entry> => {
  switch (message.role) {
    case "user":
      return message.synthetic === true || message.summary !== undefined
        ? []
        : [{ type: "prompt", text: Foreign.shown(Message.textOf(message)) }]
    case "assistant": {
      const text = Foreign.shown(Message.textOf(message)).trim()
      const files = message.content.flatMap((part) => (part.type === "file" ? [note("aside", fileLine(part))] : []))
      return text === "" ? files : [{ type: "answer", text }, ...files]
    }
    case "tool":
      return message.content.map(({ isError, output, toolName }) =>
        note(isError ? "notice" : "aside", `${toolName} ${isError ? "failed: " : "→ "}${brief(output)}`)
      )
    default:
      return message satisfies never
  }
}

const endEntries = (end: TurnEvent.TurnEnd, isChainFailed: boolean): ReadonlyArray<Entry> => {
  switch (end.status) {
    case "completed":
      return []
    case "aborted":
      return [note("failure", "Aborted.")]
    case "failed":
      return isChainFailed ? [] : [note("failure", `Failed: ${failureOf(end)}`)]
    default:
      return end.status satisfies never
  }
}

const failureOf = ({ error }: TurnEvent.TurnEnd): string =>
  error === undefined ? "no reason was given." : WaitText.coded(error.message, Failure.codeOf(error))

/** As people here write it. */
const timeOf = (epochMs: number): string => new Date(epochMs).toTimeString().slice(0, 8)

/** The beginning of a JSON value. */
const brief = (json: unknown): string => {
  const text = Foreign.oneLine(typeof json === "string" ? json : (JSON.stringify(json) ?? ""))
  return text.length > MOST_BRIEF ? `${text.slice(0, MOST_BRIEF).toWellFormed()}…` : text
}

const MOST_BRIEF = 160
