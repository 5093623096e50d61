// SPDX-License-Identifier: MIT
// exports_test.mjs SOURCE_DIR BUILD_DIR: the functions and classes that clang finds in ria/ria.h against
// the dynamic symbols of libria.so, name by mangled name.
import { execFileSync } from 'node:child_process';

const [sourceDir, buildDir] = process.argv.slice(2);
const run = (program, args) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });

const text = run('clang++-14', [
  '-std=c++20', '-fsyntax-only', `-I${sourceDir}/include`, `-I${buildDir}/include`,
  '-Xclang', '-ast-dump=json', '-Xclang', '-ast-dump-filter=ria::', '-include', 'ria/ria.h', '-x', 'c++', '/dev/null']);
const declarations = text.split(/^}$/m).filter((part) => part.trim()).map((part) => JSON.parse(`${part}}`));

const problems = [];
const expected = new Map();  // mangled name -> what it is
const expect = (symbol, what) => expected.set(symbol, what);

const inner = (node) => node.inner ?? [];
const isApi = (node) => inner(node).some((part) => part.kind === 'VisibilityAttr');
// Without a body, which the library has to have.
const isOutside = (node) => !node.isImplicit && !node.inline && !node.pure && !node.explicitlyDeleted &&
  !node.explicitlyDefaulted && !inner(node).some((part) => part.kind === 'CompoundStmt');

// A constructor and a destructor are several functions: of whole objects, of bases, for delete.
const variants = (method) => {
  const name = method.mangledName;
  if (method.kind === 'CXXConstructorDecl') return [name, name.replace(/C1(?=E)/, 'C2')];
  if (method.kind !== 'CXXDestructorDecl') return [name];
  const kinds = method.virtual ? ['D0', 'D1', 'D2'] : ['D1', 'D2'];
  return kinds.map((kind) => name.replace(/D1(?=E)/, kind));
};

const addClass = (record) => {
  const methods = inner(record).filter((part) => /^CXX(Method|Constructor|Destructor)Decl$/.test(part.kind) && isOutside(part));
  const isPolymorphic = record.definitionData?.isPolymorphic;
  if (!methods.length && !isPolymorphic) return;
  if (!isApi(record)) problems.push(`${record.name} has code in the library and no RIA_API`);
  for (const method of methods) {
    // A destructor that overrides another is virtual without saying so.
    for (const name of variants({ ...method, virtual: method.virtual || isPolymorphic })) expect(name, `${record.name}::${method.name}`);
  }
  if (!isPolymorphic) return;
  if (!methods.some((method) => method.kind === 'CXXDestructorDecl')) {
    problems.push(`${record.name} is polymorphic and its destructor is not in the library`);
  }
  const name = `N3ria${record.name.length}${record.name}E`;
  for (const table of ['_ZTV', '_ZTI', '_ZTS']) expect(table + name, `table or type of ${record.name}`);
};

for (const node of declarations) {
  if (node.kind === 'CXXRecordDecl' && node.completeDefinition) addClass(node);
  if (node.kind !== 'FunctionDecl' || !isOutside(node)) continue;
  if (!isApi(node)) problems.push(`${node.name}() has no RIA_API`);
  expect(node.mangledName, `${node.name}()`);
}

const exported = new Set(run('nm', ['-D', '--defined-only', '--format=just-symbols', `${buildDir}/libria.so`]).split('\n').filter(Boolean));
const readable = (symbol) => run('c++filt', [symbol]).trim();
for (const [symbol, what] of expected) {
  if (!exported.has(symbol)) problems.push(`${what} is declared and not exported: ${symbol}`);
}
for (const symbol of exported) {
  if (!expected.has(symbol)) problems.push(`exported and not declared with RIA_API: ${readable(symbol)}`);
}
// Code that is weak, as all is that headers bring, could be taken from a caller that has its own.
for (const line of run('nm', ['-D', '--defined-only', `${buildDir}/libria.so`]).split('\n').filter(Boolean)) {
  const [, kind, symbol] = line.split(' ');
  if (kind !== 'T' && !/^_ZT[VIS]/.test(symbol)) problems.push(`no function of the library's own: ${readable(symbol)}`);
}

console.log(`${exported.size} symbols are exported, ${expected.size} were expected`);
problems.forEach((problem) => console.error(problem));
process.exit(problems.length || expected.size < 100 ? 1 : 0);
