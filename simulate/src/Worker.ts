/** Runs the nights that `Workers.ts` sends, and sends their sum: to find a defect, until one breaks a law. */
import { DEFECTS } from "./Defects.ts"
import * as Nights from "./Nights.ts"
import type { Share } from "./Workers.ts"

const planted = DEFECTS[Number(process.env["HOLDFAST_DEFECT"])]
const isEnough = ({ broken }: Awaited<ReturnType<typeof Nights.run>>) => planted !== undefined && broken.length > 0
process.on("message", async (message) => {
  const { from, nights } = message as Share // what `Workers.ts` sends
  process.send?.(await Nights.run(from, nights, isEnough, planted?.needs))
})
