/**
 * Measures the memory that a process holds after a garbage collection. The resident set is no measure of it: that differs by megabytes
 * from start to start, more than ten thousand parked turns hold.
 */
import type { ChildProcess } from "node:child_process"

const PROBE = `process.on("SIGUSR2", () => {
  for (let i = 0; i < 3; i++) gc()
  const { heapUsed, external } = process.memoryUsage()
  process.stdout.write("\\nHELD " + (heapUsed + external) + "\\n")
})`

/** Options of Node for a process that is to be asked. */
export const NODE_OPTIONS = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(PROBE)}`]

/** Heap and buffers of a process that was started with `NODE_OPTIONS`, in bytes. */
export const bytes = ({ stdout, ...child }: Pick<ChildProcess, "stdout" | "pid">): Promise<number> =>
  new Promise((resolve) => {
    let printed = ""
    const read = (text: Buffer): void => {
      printed += text.toString()
      const found = /\nHELD (\d+)\n/.exec(printed)?.[1]
      if (found === undefined) return
      stdout?.off("data", read)
      resolve(Number(found))
    }
    stdout?.on("data", read)
    if (child.pid !== undefined) process.kill(child.pid, "SIGUSR2")
  })
