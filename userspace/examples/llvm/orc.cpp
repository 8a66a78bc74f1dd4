// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A program that compiles with LLVM's ORC, and whose code is described by sframe_unwind_orc.hpp.
 *
 * It compiles two modules at a time, in two threads, runs them, and removes them, again and
 * again: new code, with other frames, comes to the places of the old. Runs until it is killed,
 * to be recorded:
 *
 *	sframe-unwind record -- orc
 *
 * usage: orc [--plain]
 *   --plain  without the plugin: stacks end in the generated code
 *
 * c++ -O2 $(llvm-config --cxxflags) orc.cpp $(llvm-config --ldflags --libs) -lsframe_unwind
 */
#include <cstring>
#include <memory>
#include <string>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include "sframe_unwind_orc.hpp"

using namespace llvm;
using namespace llvm::orc;

/*
 * @work sorts numbers by qsort(), which calls @compare, which calls @depth, which calls
 * itself, none with a frame pointer. Each "@" is one of the module's own names; "$" is the size
 * of @depth's frame.
 */
static const char Source[] = R"(
declare void @@qsort(ptr, i64, i64, ptr)

define internal i32 @depth(i32 %n, i32 %a) noinline uwtable "frame-pointer"="none" {
	%room = alloca [$ x i8]
	store volatile i8 1, ptr %room
	%is_done = icmp eq i32 %n, 0
	br i1 %is_done, label %done, label %more
more:
	%next = sub i32 %n, 1
	%mixed = mul i32 %a, 1103515245
	%below = call i32 @depth(i32 %next, i32 %mixed)
	%sum = add i32 %below, %n
	ret i32 %sum
done:
	ret i32 %a
}

define internal i32 @compare(ptr %left, ptr %right) noinline uwtable "frame-pointer"="none" {
	%a = load i32, ptr %left
	%b = load i32, ptr %right
	%x = call i32 @depth(i32 12, i32 %a)
	%y = call i32 @depth(i32 12, i32 %b)
	%is_less = icmp slt i32 %x, %y
	%result = select i1 %is_less, i32 -1, i32 1
	ret i32 %result
}

define void @work(ptr %numbers, i64 %count) uwtable "frame-pointer"="none" {
	call void @@qsort(ptr %numbers, i64 %count, i64 4, ptr @compare)
	ret void
}
)";

static ExitOnError Check("orc: ");

/* Returns the module whose own names begin with @Prefix, with frames of @Size bytes. */
static ThreadSafeModule parse(const std::string &Prefix, unsigned int Size)
{
	auto Context = std::make_unique<LLVMContext>();
	std::unique_ptr<Module> Parsed;
	SMDiagnostic Problem;
	std::string Text;

	for (const char *At = Source; *At; At++) {
		if (*At == '$') {
			Text += std::to_string(Size);
			continue;
		}
		Text += *At;
		if (*At == '@' && At[1] == '@')
			At++;
		else if (*At == '@')
			Text += Prefix;
	}
	Parsed = parseIR(MemoryBufferRef(Text, Prefix), Problem, *Context);
	if (!Parsed) {
		Problem.print("orc", errs());
		exit(1);
	}
	return ThreadSafeModule(std::move(Parsed), std::move(Context));
}

/* Compile both modules, run them, and remove them. */
static void round(LLJIT &Jit, unsigned int Number)
{
	const SymbolStringPtr Names[] = { Jit.mangleAndIntern("a_work"),
					  Jit.mangleAndIntern("b_work") };
	ResourceTrackerSP Tracker = Jit.getMainJITDylib().createResourceTracker();
	static int Numbers[20000];

	Check(Jit.addIRModule(Tracker, parse("a_", 16 * (1 + Number % 7))));
	Check(Jit.addIRModule(Tracker, parse("b_", 1024 << Number % 3)));

	/* One look-up, so that both are compiled at the same time. */
	SymbolMap Found = Check(Jit.getExecutionSession().lookup(
		makeJITDylibSearchOrder(&Jit.getMainJITDylib()),
		SymbolLookupSet(ArrayRef<SymbolStringPtr>(Names))));

	for (const SymbolStringPtr &Name : Names) {
		auto *Work = Found[Name].getAddress().toPtr<void (*)(int *, size_t)>();

		for (int Times = 0; Times < 2; Times++) {
			for (size_t i = 0; i < std::size(Numbers); i++)
				Numbers[i] = i * 7919 % 10007 + Times;
			Work(Numbers, std::size(Numbers));
		}
	}
	Check(Tracker->remove());
}

int main(int argc, char **argv)
{
	const bool IsPlain = argc > 1 && !strcmp(argv[1], "--plain");

	InitializeNativeTarget();
	InitializeNativeTargetAsmPrinter();

	std::unique_ptr<LLJIT> Jit = Check(LLJITBuilder().setNumCompileThreads(2).create());
	auto *Layer = dyn_cast<ObjectLinkingLayer>(&Jit->getObjLinkingLayer());

	if (!Layer) {
		errs() << "orc: this LLVM does not use JITLink here\n";
		return 1;
	}
	if (!IsPlain) {
		auto Plugin = SFrameUnwindPlugin::Create(Jit->getExecutionSession());

		if (Plugin)
			Layer->addPlugin(std::move(*Plugin));
		else
			logAllUnhandledErrors(Plugin.takeError(), errs(), "orc: ");
	}
	for (unsigned int Number = 0;; Number++) {
		round(*Jit, Number);
		if (!Number)
			outs() << "running\n";
		outs().flush();
	}
}
