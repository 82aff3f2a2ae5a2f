/**
 * Limits a process to a share of one core, by a control group of Linux, so that processes that share a machine do not compete for its cores.
 *
 * It needs the rights to make such a group; without them nothing is limited.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The folder of the first version's controller, and the root of the second's. */
const VERSION_1 = "/sys/fs/cgroup/cpu"
const VERSION_2 = "/sys/fs/cgroup"

/** Short, so that a limited process stands still for milliseconds only. */
const PERIOD_US = 20_000

/**
 * Limits a process with all its threads; returns whether it is limited.
 *
 * @param share of one core, above 0
 */
export const limit = (pid: number, share: number): boolean => {
  const name = `holdfast-bench-${pid}`
  const quota = Math.round(PERIOD_US * share)
  try {
    if (existsSync(join(VERSION_1, "cpu.cfs_quota_us"))) {
      const group = made(join(VERSION_1, name))
      writeFileSync(join(group, "cpu.cfs_period_us"), String(PERIOD_US))
      writeFileSync(join(group, "cpu.cfs_quota_us"), String(quota))
      writeFileSync(join(group, "cgroup.procs"), String(pid))
    } else {
      const group = made(join(VERSION_2, name))
      writeFileSync(join(group, "cpu.max"), `${quota} ${PERIOD_US}`)
      writeFileSync(join(group, "cgroup.procs"), String(pid))
    }
    return true
  } catch {
    return false
  }
}

// --- internal

/** Makes a group, and removes it when this process ends; by then the limited process has ended. */
const made = (group: string): string => {
  mkdirSync(group)
  process.on("exit", () => {
    try {
      rmdirSync(group)
    } catch {
      // The limited process has not ended yet. Its group is harmless.
    }
  })
  return group
}
