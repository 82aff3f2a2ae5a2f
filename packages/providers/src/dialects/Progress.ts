/** Distinguishes pings from progress in what passes after content, for limits on silence (C8). */
import type { Dialect, AnswerHead } from "./Dialect.ts"
import * as AnswerFrames from "./AnswerFrames.ts"

/** Longer reads count as progress without being read. Pings and comments of all formats have less. */
const LONGEST_PING = 100

/** Whether a read has more than pings, comments and blanks. Only short reads are looked into. */
export const isProgress = (dialect: Dialect, bytes: Uint8Array, head: AnswerHead): boolean =>
  bytes.length > LONGEST_PING ||
  AnswerFrames.all(AnswerFrames.ofEvents(), bytes).some((frame) => dialect.judge(frame, head).kind !== "preamble")
