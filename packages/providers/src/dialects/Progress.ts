/** Distinguishes pings from progress in what passes after content, for limits on silence (C8). */
import type { Dialect, Head } from "./Dialect.ts"
import * as Frames from "./Frames.ts"

/** Longer reads count as progress without being read. Pings and comments of all formats have less. */
const LONGEST_PING = 100

/** Whether a read has more than pings, comments and blanks. Only short reads are looked into. */
export const isProgress = (dialect: Dialect, bytes: Uint8Array, head: Head): boolean =>
  bytes.length > LONGEST_PING ||
  Frames.all(Frames.ofEvents(), bytes).some((frame) => dialect.judge(frame, head).kind !== "preamble")
