/** Runs nights for `main.ts`, and sends their sum: to find a defect, until one breaks a law. */
import { DEFECTS } from "./Defects.ts"
import * as Nights from "./Nights.ts"

const [from = "0", nights = "0", defect = ""] = process.argv.slice(2)
const planted = defect === "" ? undefined : DEFECTS[Number(defect)]
const isEnough = ({ broken }: Awaited<ReturnType<typeof Nights.run>>) => planted !== undefined && broken.length > 0
const sum = await Nights.run(Number(from), Number(nights), isEnough, planted?.needs)
process.send?.(sum, () => process.disconnect())
