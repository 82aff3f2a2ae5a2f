/** Limits how many clients start at once: a client uses a processor until its first call, and then it waits. */
import { availableParallelism } from "node:os"

/** Runs a start when there is room; `over` is when the room is free again. */
export const begin = async <A>(start: () => Promise<A>, over: (started: A) => Promise<unknown>): Promise<A> => {
  if (free > 0) free--
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    const started = await start()
    void over(started).finally(leave)
    return started
  } catch (error) {
    leave()
    throw error
  }
}

// --- internal

let free = availableParallelism() + 1
const waiting: Array<() => void> = []

const leave = (): void => {
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
}
