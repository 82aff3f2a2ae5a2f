/** The clock of this process, where libfaketime moves it: `LD_PRELOAD=…/libfaketime.so.1 FAKETIME='+0 x10'`. */

import { existsSync } from "node:fs"

const LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"

/** Whether the library is there. */
export const canMove = existsSync(LIBRARY)

/** What a process needs whose clock goes so many times as fast, from now on. */
export const sped = (factor: number) => ({ LD_PRELOAD: LIBRARY, FAKETIME: `+0 x${factor}` })

/** What a process that starts now needs to have the same clock, at the same speed. */
export const env = (): Readonly<Record<string, string>> => {
  const { FAKETIME, LD_PRELOAD } = process.env
  const speed = /x[\d.]+$/u.exec(FAKETIME ?? "")?.[0]
  if (LD_PRELOAD === undefined || speed === undefined) return {}
  const now = new Date().toISOString().slice(0, 19).replace("T", " ")
  return { LD_PRELOAD, FAKETIME: `@${now} ${speed}`, TZ: "UTC" }
}
