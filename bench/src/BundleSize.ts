/**
 * How large the packages are in a bundle: esbuild, minified, for the browser, gzip. The bare limit is a program with `effect` alone.
 *
 * The programs are those of `test:runtimes`, which fails when one grows (runtimes/src/Bundles.ts).
 */
import { bundles, sizeOf } from "../../runtimes/src/Bundles.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Project from "./packed/Project.ts"

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Project.within(async (project) => {
    const sizes = bundles.map((bundle) => ({ ...bundle, kB: sizeOf(project, bundle) / 1_000 }))
    const [bare, ...programs] = sizes
    FigureTable.print(
      "Bundle: esbuild, minified, gzip, beside a program with effect alone",
      programs.map(({ aimKb, kB, name }) => ({
        what: name,
        holdfast: kB,
        bare: bare?.kB,
        unit: "kB",
        aim: aimKb === undefined ? undefined : { atMost: aimKb, of: "figure" }
      }))
    )
  })
