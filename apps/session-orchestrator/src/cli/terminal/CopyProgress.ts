/**
 * Shows the progress of a copy: a bar on a terminal, lines elsewhere.
 *
 * Elsewhere there is a line per tenth. A copy that ends quickly shows no progress.
 */
import type { Progress } from "../../storage/sqlite/Backup.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as DurationText from "../../base/text/DurationText.ts"
import type { Terminal } from "./Terminal.ts"

/** Shows one copy. */
export interface CopyProgress {
  /** Shows the progress at `now`, in epoch milliseconds. */
  readonly show: (progress: Progress, now: number) => void
  /** Removes the bar. */
  readonly close: () => void
}

/**
 * Makes the display of one copy.
 *
 * @param begunAt epoch milliseconds
 */
export const make = (terminal: Terminal["Service"], begunAt: number): CopyProgress => {
  let shown = ""
  return {
    show: (progress, now) => {
      const elapsedMs = now - begunAt
      if (progress.totalBytes < WORTH_SHOWING && elapsedMs < PATIENCE_MS) return
      const line = terminal.canRepaint ? bar(progress, elapsedMs, terminal.columns()) : plain(progress)
      if (line === shown) return
      terminal.stderr(terminal.canRepaint ? `\r\u001b[J${line}` : `${line}\n`)
      shown = line
    },
    close: () => {
      if (shown !== "" && terminal.canRepaint) terminal.stderr("\r\u001b[J")
    }
  }
}

/** One line for a terminal: `[######--------------] 30 % of 1.0 GiB, 120.0 MiB/s, 6 s left`. */
export const bar = ({ copiedBytes, totalBytes }: Progress, elapsedMs: number, columns: number): string => {
  const share = totalBytes === 0 ? 1 : copiedBytes / totalBytes
  const room = Math.max(0, columns - 1)
  const rate = elapsedMs > 0 ? copiedBytes / elapsedMs : 0
  const left = rate > 0 ? `, ${DurationText.countdown((totalBytes - copiedBytes) / rate)} left` : ""
  const words =
    share >= 1
      ? `checking ${size(totalBytes)}`
      : `${Math.floor(share * 100)} % of ${size(totalBytes)}, ${size(rate * 1_000)}/s${left}`
  const cells = Math.min(LONGEST_BAR, room - words.length - 3)
  if (cells < SHORTEST_BAR) return Prose.clip(words, room)
  const done = Math.floor(share * cells)
  return `[${"#".repeat(done)}${"-".repeat(cells - done)}] ${words}`
}

/** A number of bytes for people: `12.3 MiB`. */
export const size = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

// --- internal

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const

/** Bytes. A smaller copy takes less than a second, unless the disk is slow. */
const WORTH_SHOWING = 64 * 1024 * 1024
const PATIENCE_MS = 2_000

const LONGEST_BAR = 30
const SHORTEST_BAR = 5

const plain = ({ copiedBytes, totalBytes }: Progress): string => {
  const percent = Math.floor((copiedBytes / totalBytes) * 100)
  return percent >= 100 ? `Checking ${size(totalBytes)}` : `Copied ${percent - (percent % 10)} % of ${size(totalBytes)}`
}
