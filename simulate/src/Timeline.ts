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
    this.lines.push(`${timeOf(this.world.elapsedMs)}  ${who.padEnd(10)} ${what}`)
    this.hash
      .update(this.lines.at(-1) ?? "")
      .update(whole)
      .update("\n")
  }

  /** Two nights with the same digest had the same events, byte for byte. */
  digest(...more: ReadonlyArray<string>): string {
    for (const line of more) this.hash.update(line).update("\n")
    return this.hash.digest("hex").slice(0, 16)
  }
}

/** `+1:02:03.004`. */
export const timeOf = (ms: number): string => {
  const two = (n: number): string => String(n).padStart(2, "0")
  const s = Math.floor(ms / 1000)
  return `+${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}.${String(ms % 1000).padStart(3, "0")}`
}
