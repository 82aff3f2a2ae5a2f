/**
 * Holds one attempt's answer back until it has content, and then lets its bytes pass as they come.
 *
 * It is synchronous and pure over bytes: a gateway feeds it what it reads, and writes down what it returns. After content nothing is
 * parsed but the end of the answer. What is held is bounded: an answer that exceeds the bound before content passes as if it had
 * content.
 *
 * Nothing of a failed attempt passes: an error status, an error in a success, a page, an empty body, JSON that was cut, a stream that ends
 * without its end mark before content (X13). The bytes that pass are the bytes that were fed, in their order, from the first one on.
 */
import { Classification } from "@holdfast/policy"
import { defined, JsonShape } from "@holdfast/wire"
import type { JsonObject } from "../decoding/Json.ts"
import * as PlainBody from "../http/PlainBody.ts"
import * as AnswerEnd from "./AnswerEnd.ts"
import type { Dialect, Failed, Framing, AnswerHead, Judgement } from "./Dialect.ts"
import { ofBody, ofBroken } from "./Dialect.ts"
import * as AnswerFrames from "./AnswerFrames.ts"

/** The most bytes that are held of one answer. */
export const MOST_HELD = 64 * 1024 * 1024

/**
 * How an attempt stands.
 *
 * - `held`: nothing has passed.
 * - `passing`: content has passed.
 * - `complete`: the answer has ended with its format's end mark.
 * - `failed`: `hasPassed` is true if content had passed before; then the client has to see a cut.
 */
type Standing =
  | { readonly kind: "held" | "passing" | "complete" }
  | ({ readonly kind: "failed"; readonly hasPassed: boolean } & Failed)

/** One attempt's answer. */
export type ContentGate = ReturnType<typeof make>

/** What a gate is made for. */
export interface Options {
  readonly dialect: Dialect
  /** Of the call. */
  readonly framing: Framing
  /** Of the response. */
  readonly head: AnswerHead
}

/** A gate for one attempt whose head has arrived. */
export const make = ({ dialect, framing, head }: Options) => {
  const isRefused = head.status < 200 || head.status >= 300
  let standing: Standing = { kind: "held" }
  let held: Array<Uint8Array> = []
  let heldBytes = 0
  /** Absent before the first byte, which decides how the body is framed, and for a document. */
  let splitter: AnswerFrames.Splitter | undefined
  let kind: "blank" | "document" | "array" | "events" = "blank"
  let hasData = false
  const counts: Array<JsonObject> = []
  let ending: AnswerEnd.AnswerEnd = AnswerEnd.none

  const fail = ({ body, failure }: Failed): void => {
    standing = { kind: "failed", hasPassed: standing.kind !== "held", failure, ...defined({ body }) }
  }

  const pass = (): ReadonlyArray<Uint8Array> => {
    standing = { kind: "passing" }
    const passed = held
    held = []
    for (const bytes of passed) ending.add(bytes)
    return passed
  }

  /** Takes a judgement of a held frame. `true`: the frame passes, with all before it. */
  const judged = (judgement: Judgement): boolean => {
    if (judgement.counts !== undefined) counts.push(judgement.counts)
    if (judgement.kind === "error") fail(judgement)
    return judgement.kind === "content" || judgement.kind === "end"
  }

  const text = (): string => new TextDecoder().decode(AnswerFrames.join(held))

  const begin = (bytes: Uint8Array): void => {
    if (kind !== "blank") return
    switch (PlainBody.kindOf([bytes])) {
      case "blank":
        return
      case "page":
        kind = "document"
        return
      case "json":
        kind = framing === "array" ? "array" : "document"
        break
      case "stream":
        kind = "events"
    }
    if (kind === "events") {
      splitter = AnswerFrames.ofEvents()
      ending = AnswerEnd.ofEvents(dialect, head)
    } else if (kind === "array") {
      splitter = AnswerFrames.ofArray()
      ending = AnswerEnd.ofArray(dialect, head)
    }
  }

  const receive = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
    const wasBlank = kind === "blank"
    begin(bytes)
    held.push(bytes.slice())
    heldBytes += bytes.length
    if (isRefused) {
      if (heldBytes > PlainBody.MAX_BYTES) fail(ofBody(text().slice(0, PlainBody.MAX_BYTES), head))
      return []
    }
    // White space, or a part of a byte order mark, may have come before.
    for (const frame of splitter?.feed(wasBlank ? AnswerFrames.join(held) : bytes) ?? []) {
      hasData = true
      if (judged(dialect.judge(frame, head))) return pass()
      if (standing.kind === "failed") return []
    }
    return heldBytes > MOST_HELD ? pass() : []
  }

  const endHeld = (): ReadonlyArray<Uint8Array> => {
    if (isRefused || splitter === undefined) {
      const judgement = isRefused ? undefined : dialect.judgeDocument(text(), head)
      if (judgement === undefined) fail(ofBody(text(), head))
      else if (judged(judgement)) return pass()
      else if (judgement.kind !== "error") fail(ofBody(text(), head))
      return []
    }
    for (const rest of splitter.rest()) {
      // A frame that the end has cut off is no error of its own (C6).
      const isCutOff = rest.event !== "error" && JsonShape.parse(rest.data) === undefined
      if (!isCutOff && judged(dialect.judge(rest, head))) return pass()
      if (standing.kind === "failed") return []
    }
    fail(hasData ? { failure: Classification.incomplete() } : ofBody(text(), head))
    return []
  }

  /** Reads the end of an answer that has passed. */
  const settle = (ifOpen: () => Failed): void => {
    const { counts: found, failed, isComplete } = ending.read()
    counts.push(...found)
    if (failed !== undefined) return fail(failed)
    if (isComplete) standing = { kind: "complete" }
    else fail(ifOpen())
  }

  return {
    /** The bytes that may go down now. None while the answer is held, and none of an attempt that failed before content. */
    feed: (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
      switch (standing.kind) {
        case "held":
          return receive(bytes)
        case "passing":
          ending.add(bytes)
          return [bytes]
        case "complete":
        case "failed":
          return []
      }
    },
    /** The body has ended. The bytes that may go down now. */
    end: (): ReadonlyArray<Uint8Array> => {
      const passed = standing.kind === "held" ? endHeld() : []
      if (standing.kind === "passing") settle(() => ({ failure: Classification.incomplete() }))
      return passed
    },
    /** The connection has failed, or a limit ended it; nothing more is fed. `failed` where the failure is known. */
    broken: (cause: unknown, failed?: Failed): void => {
      const broken = () => failed ?? ofBroken(cause, head)
      // The status of a refusal counts, whatever became of its body.
      if (standing.kind === "held") fail(isRefused ? ofBody(text(), head) : broken())
      else if (standing.kind === "passing") settle(broken)
    },
    standing: () => standing,
    /** The usage of what came so far. */
    usage: () => dialect.usage(standing.kind === "passing" ? [...counts, ...ending.read().counts] : counts),
    /** The endpoint's body of an attempt that failed before content, as it came. */
    received: (): ReadonlyArray<Uint8Array> => held
  }
}

/** Longer reads count as progress without being read. Pings and comments of all formats have less. */
const LONGEST_PING = 100

/** Whether a read after content has more than pings, comments and blanks, for limits on silence (C8). Only short reads are looked into. */
export const isProgress = (dialect: Dialect, bytes: Uint8Array, head: AnswerHead): boolean =>
  bytes.length > LONGEST_PING ||
  AnswerFrames.all(AnswerFrames.ofEvents(), bytes).some((frame) => dialect.judge(frame, head).kind !== "preamble")
