/** Finds a free port for programs that need a number. */
import { Effect } from "effect"
import * as Ports from "../../../tools/src/acceptance/Ports.ts"

export const freePort: Effect.Effect<number> = Effect.promise(Ports.free)
