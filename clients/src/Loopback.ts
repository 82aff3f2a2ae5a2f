/** Runs the tests where nothing but loopback can be reached, and where no process outlives them: in namespaces of their own, if Linux lets us. */
import { spawnSync } from "node:child_process"

const INSIDE = "HOLDFAST_CLIENTS_LOOPBACK"

const enter = (command: ReadonlyArray<string>, stdio: "inherit" | "ignore") =>
  spawnSync(
    "unshare",
    [
      ..."--map-root-user --net --pid --fork --kill-child --mount-proc".split(" "),
      "sh",
      "-c",
      'ip link set lo up && exec "$@"',
      "sh",
      ...command
    ],
    { stdio, env: { ...process.env, [INSIDE]: "1" } }
  )

/** Runs this program again inside, and ends with it. Returns inside, or where namespaces are not allowed. */
export const only = (): void => {
  if (process.env[INSIDE] !== undefined) return
  if (enter(["true"], "ignore").status !== 0) {
    console.log("Namespaces are not allowed here: clients could reach other hosts.")
    return
  }
  const { signal, status } = enter([process.execPath, ...process.argv.slice(1)], "inherit")
  process.exit(signal === null ? (status ?? 1) : 1)
}
