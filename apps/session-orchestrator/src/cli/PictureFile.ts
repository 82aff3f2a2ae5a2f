/** Writes the picture of a command to a file. */
import { Effect, FileSystem, Option } from "effect"
import { causeOf } from "../system/PlatformFailure.ts"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Setup from "./Setup.ts"

/** `--svg`, the same for every command that draws. */
export const flag = Setup.textFlag("svg", "FILE", "Write a picture to this file, readable in light and dark")

/** Draws and writes the picture if the flag names a file. */
export const write = Effect.fnUntraced(function* (flag: Option.Option<string>, svg: () => string) {
  const path = Option.getOrUndefined(flag)
  if (path === undefined) return
  const files = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    files.writeFileString(path, svg()),
    (error) =>
      new Refused({ message: `--svg: ${path} cannot be written: ${causeOf(error)}.`, exitCode: ExitCode.FAILED })
  )
})
