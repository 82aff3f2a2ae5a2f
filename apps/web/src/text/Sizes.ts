/** Sizes of files for people. Pure. */
import { Count } from "@holdfast/wire"

/** `812 bytes`, `34 kB`, `5.2 MB`: as the service writes them, whose own function would load its schemas into the page. */
export const bytes = (count: number): string => {
  if (count < 1_000) return Count.of(count, "byte")
  return count < 999_500 ? `${Math.round(count / 1_000)} kB` : `${Math.round(count / 100_000) / 10} MB`
}
