/**
 * Counts the commits in a SQLite write-ahead log, from outside the process that writes it.
 *
 * Under `synchronous = FULL` each commit is synced once, when its last frame has been written, and nothing else of a turn is. So
 * commits are what a program that traces system calls counts as syncs of the log, and no such program is needed. Frames that an
 * earlier pass over the file left behind have other salts. Read: sqlite.org/fileformat2.html#walformat.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs"

const HEADER = 32
const FRAME_HEADER = 24

/**
 * Commits since the log was last begun anew.
 *
 * **Gotchas**
 *
 * A log begins anew when it was emptied into the database, after thousands of pages: compare counts of a few turns only.
 */
export const commits = (database: string): number => {
  const log = `${database}-wal`
  if (!existsSync(log)) return 0
  const file = openSync(log, "r")
  try {
    const header = Buffer.alloc(HEADER)
    if (readSync(file, header, 0, HEADER, 0) < HEADER) return 0
    const pageSize = header.readUInt32BE(8)
    const salts = header.subarray(16, 24)
    const frame = Buffer.alloc(FRAME_HEADER)
    const { size } = statSync(log)
    let count = 0
    for (let at = HEADER; at + FRAME_HEADER + pageSize <= size; at += FRAME_HEADER + pageSize) {
      readSync(file, frame, 0, FRAME_HEADER, at)
      if (!frame.subarray(8, 16).equals(salts)) break
      // A transaction's last frame has the size of the database after it, all others have zero.
      if (frame.readUInt32BE(4) > 0) count++
    }
    return count
  } finally {
    closeSync(file)
  }
}
