/** How the page at `/docs` looks: by day and by night, wide and narrow, on paper. */

export const style = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d8dee4;--panel:#f6f8fa;--accent:#0b5cad;--get:#0a6640;--post:#8a4600;--put:#5a32a3}
@media (prefers-color-scheme:dark){:root{--bg:#0f1317;--fg:#e6edf3;--soft:#9aa6b2;--line:#2b333b;--panel:#171d23;--accent:#7ab8ff;--get:#6fd6a0;--post:#f0b267;--put:#c3a6ff}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,sans-serif;display:grid;grid-template-columns:15rem minmax(0,1fr)}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:1rem;background:var(--bg);padding:.5rem 1rem;z-index:1}
nav{position:sticky;top:0;height:100vh;overflow-y:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);background:var(--panel);font-size:.9rem}
nav ul{list-style:none;margin:0 0 1rem;padding:0}
nav a{display:block;padding:.2rem .4rem;text-decoration:none;color:var(--fg);border-radius:4px}
nav a:hover{background:var(--line)}
.brand{font-weight:700;font-size:1.1rem;margin:0 0 1rem .4rem}
.group{margin:0 0 .2rem .4rem;color:var(--soft);font-size:.75rem;text-transform:uppercase;letter-spacing:.06em}
main{padding:2rem clamp(1rem,4vw,3rem) 6rem;max-width:60rem}
h1{font-size:1.9rem;margin:0 0 1rem}
h2{margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{margin:0 0 .3rem;font-size:1.15rem}
h4{margin:1.2rem 0 .3rem;font-size:.8rem;text-transform:uppercase;letter-spacing:.06em;color:var(--soft)}
article{margin:2rem 0;scroll-margin-top:1rem}
article:target{box-shadow:-1rem 0 0 var(--bg),-1.25rem 0 0 var(--accent)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.87em}
:not(pre)>code{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.05em .3em;overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.8rem 1rem;overflow-x:auto;margin:.4rem 0}
.call code{font-size:1rem;border:0;background:none}
.method{font:700 .8rem ui-monospace,monospace;color:var(--soft)}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem;margin:.4rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);font-size:.8rem}
small{color:var(--soft);font-weight:400}
dl.answers{display:grid;grid-template-columns:3.5rem minmax(0,1fr);gap:.3rem .8rem;margin:.3rem 0}
dt{font-family:ui-monospace,monospace;font-weight:600}
dd{margin:0}dd p{margin:0 0 .3rem}
summary{cursor:pointer;color:var(--accent)}
@media (max-width:48rem){body{display:block}nav{position:static;height:auto;border-right:0;border-bottom:1px solid var(--line)}dl.answers{grid-template-columns:1fr}}
@media print{nav,.skip{display:none}body{display:block}}
`
