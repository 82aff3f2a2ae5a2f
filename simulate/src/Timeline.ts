/** What happens in a night, line by line. */
import { createHash } from "node:crypto"
import type { World } from "./World.ts"

export class Timeline {
  readonly lines: Array<string> = []
  private readonly hash = createHash("sha256")
  private readonly world: World

  constructor(world: World) {
    this.world = world
  }

  /** Adds a line; `whole` is what happened to the byte, for the digest alone. */
  add(who: string, what: string, whole = ""): void {
    const line = `${timeOf(this.world.elapsedMs)}  ${who.padEnd(10)} ${what}`
    this.lines.push(line)
    this.hash.update(`${line}${whole}\n`)
  }

  /** Two nights with the same digest had the same events, byte for byte. */
  digest(...more: ReadonlyArray<string>): string {
    return this.hash
      .update(more.map((line) => `${line}\n`).join(""))
      .digest("hex")
      .slice(0, 16)
  }
}

/** `+1:02:03.004`. */
export const timeOf = (ms: number): string => {
  const two = (n: number): string => String(n).padStart(2, "0")
  const s = Math.floor(ms / 1000)
  return `+${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}.${String(ms % 1000).padStart(3, "0")}`
}
