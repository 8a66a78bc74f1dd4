// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Stacks through the code that LLVM's ORC links in this process: a plugin of
 * ObjectLinkingLayer that turns the .eh_frame of each linked object to an SFrame section, and
 * registers the code. An example to copy: this header is all of it. See orc.cpp.
 *
 *	llvm::orc::ObjectLinkingLayer &Layer = ...;
 *	auto Plugin = SFrameUnwindPlugin::Create(Session);
 *	if (Plugin)
 *		Layer.addPlugin(std::move(*Plugin));
 *	else	// no device: go on without
 *		llvm::logAllUnhandledErrors(Plugin.takeError(), llvm::errs());
 *
 * Functions have an .eh_frame if they have the attribute "uwtable", or may throw. Those with a
 * rule that SFrame has no form for are left out: stacks end there.
 *
 * The .eh_frame is read when the object is linked; the code is registered when it has become
 * executable, before a thread can run it, and its registration ends before its memory is
 * freed. Errors of both are given to Session.reportError(): the code runs all the same.
 *
 * Objects may be linked and removed by several threads. A child of fork() inherits the
 * registrations, and can remove code as its parent can.
 *
 * For x86-64 Linux; tried with LLVM 22. Link with libsframe_unwind and LLVM.
 */
#ifndef SFRAME_UNWIND_ORC_HPP
#define SFRAME_UNWIND_ORC_HPP

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <llvm/DebugInfo/DWARF/DWARFDataExtractor.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugFrame.h>
#include <llvm/DebugInfo/DWARF/LowLevel/DWARFUnwindTable.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/Error.h>
#include <llvm/TargetParser/Triple.h>

#include <sframe_unwind.h>

class SFrameUnwindPlugin : public llvm::orc::ObjectLinkingLayer::Plugin {
	using Responsibility = llvm::orc::MaterializationResponsibility;

	/* DWARF numbers of rbp and of the return address. */
	static constexpr uint32_t FP = SFRAME_UNWIND_REG_FP, RA = 16;

	/*
	 * The code of one object, and its section, which is written where it is used. The
	 * object unregisters it at its end.
	 */
	struct Code {
		sframe_unwind *Handle;
		std::unique_ptr<unsigned char[]> Section;
		size_t Size = 0;
		uint64_t Start = UINT64_MAX, End = 0;
		uint64_t Id = 0;

		explicit Code(sframe_unwind *Handle) : Handle(Handle) {}
		Code(const Code &) = delete;
		Code &operator=(const Code &) = delete;
		~Code()
		{
			if (Id)
				sframe_unwind_unregister(Handle, Id);
		}
	};

	struct CloseHandle {
		void operator()(sframe_unwind *Handle) { sframe_unwind_close(Handle); }
	};
	struct FreeWriter {
		void operator()(sframe_unwind_writer *Writer)
		{
			sframe_unwind_writer_free(Writer);
		}
	};
	using WriterPtr = std::unique_ptr<sframe_unwind_writer, FreeWriter>;

	llvm::orc::ExecutionSession &Session;
	std::unique_ptr<sframe_unwind, CloseHandle> Handle;

	/* Protects the members below. The session's lock may be held when it is taken. */
	std::mutex Mutex;
	/* Objects that are not executable yet. */
	std::map<Responsibility *, std::unique_ptr<Code>> Linked;
	std::map<llvm::orc::ResourceKey, std::vector<std::unique_ptr<Code>>> Registered;

public:
	/* Use Create(). */
	SFrameUnwindPlugin(llvm::orc::ExecutionSession &Session, sframe_unwind *Handle)
		: Session(Session), Handle(Handle)
	{
	}

	/* Open the device. The error is that of sframe_unwind_open(). */
	static llvm::Expected<std::shared_ptr<SFrameUnwindPlugin>>
	Create(llvm::orc::ExecutionSession &Session)
	{
		sframe_unwind *Handle;
		const int Err = sframe_unwind_open(&Handle, 0);

		if (Err)
			return failure(Err, sframe_unwind_error(nullptr));
		return std::make_shared<SFrameUnwindPlugin>(Session, Handle);
	}

	void modifyPassConfig(Responsibility &MR, llvm::jitlink::LinkGraph &,
			      llvm::jitlink::PassConfiguration &Config) override
	{
		Config.PostFixupPasses.push_back([this, &MR](llvm::jitlink::LinkGraph &G) {
			if (llvm::Error Err = describe(MR, G))
				Session.reportError(std::move(Err));
			return llvm::Error::success();
		});
	}

	/* The code of @MR is executable. Nobody knows its address yet. */
	llvm::Error notifyEmitted(Responsibility &MR) override
	{
		std::unique_ptr<Code> New = takeLinked(MR);
		int Err;

		if (!New)
			return llvm::Error::success();
		Err = sframe_unwind_register(Handle.get(), New->Section.get(), New->Size,
					     pointer(New->Start), New->End - New->Start, 0,
					     &New->Id);
		if (Err) {
			New->Id = 0;
			Session.reportError(failure(Err, sframe_unwind_error(Handle.get())));
			return llvm::Error::success();
		}
		/* If its resources are being removed, @New unregisters it again. */
		return MR.withResourceKeyDo([&](llvm::orc::ResourceKey Key) {
			std::lock_guard<std::mutex> Lock(Mutex);

			Registered[Key].push_back(std::move(New));
		});
	}

	llvm::Error notifyFailed(Responsibility &MR) override
	{
		takeLinked(MR);
		return llvm::Error::success();
	}

	/* The layer frees the code after that. */
	llvm::Error notifyRemovingResources(llvm::orc::JITDylib &,
					    llvm::orc::ResourceKey Key) override
	{
		std::vector<std::unique_ptr<Code>> Removed;
		std::lock_guard<std::mutex> Lock(Mutex);
		auto At = Registered.find(Key);

		if (At != Registered.end()) {
			Removed = std::move(At->second);
			Registered.erase(At);
		}
		return llvm::Error::success();
	}

	void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey To,
					 llvm::orc::ResourceKey From) override
	{
		std::lock_guard<std::mutex> Lock(Mutex);
		auto At = Registered.find(From);

		if (At == Registered.end())
			return;
		for (std::unique_ptr<Code> &Moved : At->second)
			Registered[To].push_back(std::move(Moved));
		Registered.erase(From);
	}

private:
	static llvm::Error failure(int Err, const char *Text)
	{
		return llvm::createStringError(std::error_code(-Err, std::generic_category()),
					       "sframe_unwind: %s", Text);
	}

	static const void *pointer(uint64_t Address)
	{
		return reinterpret_cast<const void *>(static_cast<uintptr_t>(Address));
	}

	std::unique_ptr<Code> takeLinked(Responsibility &MR)
	{
		std::lock_guard<std::mutex> Lock(Mutex);
		auto At = Linked.find(&MR);
		std::unique_ptr<Code> Taken;

		if (At != Linked.end()) {
			Taken = std::move(At->second);
			Linked.erase(At);
		}
		return Taken;
	}

	/* Set @Place to where @Location says. Returns whether SFrame has a form for that. */
	static bool setPlace(const std::optional<llvm::dwarf::UnwindLocation> &Location,
			     sframe_unwind_place &Place)
	{
		using llvm::dwarf::UnwindLocation;

		if (!Location)
			return true;
		switch (Location->getLocation()) {
		case UnwindLocation::Unspecified:
		case UnwindLocation::Same:
			return true;
		case UnwindLocation::CFAPlusOffset:
			Place.kind = SFRAME_UNWIND_PLACE_MEMORY;
			Place.base = SFRAME_UNWIND_CFA;
			Place.offset = Location->getOffset();
			return Location->getDereference();
		default:
			return false;
		}
	}

	/* Set @Row to @From, of a function at @Start. Returns as setPlace(). */
	static bool setRow(const llvm::dwarf::UnwindRow &From, uint64_t Start,
			   sframe_unwind_row &Row)
	{
		const llvm::dwarf::RegisterLocations &Registers = From.getRegisterLocations();
		const llvm::dwarf::UnwindLocation &CFA = From.getCFAValue();
		const auto Return = Registers.getRegisterLocation(RA);

		Row = sframe_unwind_row();
		Row.start = From.getAddress() - Start;
		if (Return && Return->getLocation() == llvm::dwarf::UnwindLocation::Undefined) {
			Row.flags = SFRAME_UNWIND_ROW_NO_CALLER;
			return true;
		}
		if (CFA.getLocation() != llvm::dwarf::UnwindLocation::RegPlusOffset ||
		    CFA.getDereference() || CFA.getRegister() >= RA)
			return false;
		Row.cfa.kind = SFRAME_UNWIND_PLACE_VALUE;
		Row.cfa.base = CFA.getRegister();
		Row.cfa.offset = CFA.getOffset();
		return setPlace(Return, Row.ra) &&
		       setPlace(Registers.getRegisterLocation(FP), Row.fp);
	}

	/* Add the function of @FDE to @Writer, and to the range of @To. */
	static llvm::Error addFunction(const llvm::dwarf::FDE &FDE, sframe_unwind_writer *Writer,
				       Code &To)
	{
		llvm::Expected<llvm::dwarf::UnwindTable> Table = llvm::dwarf::createUnwindTable(&FDE);
		sframe_unwind_function Function = sframe_unwind_function();
		std::vector<sframe_unwind_row> Rows;

		if (!Table)
			return Table.takeError();
		for (const llvm::dwarf::UnwindRow &Row : *Table) {
			Rows.emplace_back();
			if (!setRow(Row, FDE.getInitialLocation(), Rows.back()))
				return llvm::Error::success();
		}
		Function.start = FDE.getInitialLocation();
		Function.size = FDE.getAddressRange();
		Function.rows = Rows.data();
		Function.nr_rows = Rows.size();
		if (FDE.getLinkedCIE()->getAugmentationString().contains('S'))
			Function.flags = SFRAME_UNWIND_FUNCTION_SIGNAL;
		if (int Err = sframe_unwind_writer_add(Writer, &Function))
			return failure(Err, sframe_unwind_writer_error(Writer));
		To.Start = std::min(To.Start, Function.start);
		To.End = std::max(To.End, Function.start + Function.size);
		return llvm::Error::success();
	}

	/* Returns the bytes of @Range, a section that is linked, as they will be at run time. */
	static std::string contents(const llvm::jitlink::Section &Section,
				    const llvm::jitlink::SectionRange &Range)
	{
		std::string Bytes(Range.getSize(), '\0');

		for (const llvm::jitlink::Block *Block : Section.blocks())
			if (!Block->isZeroFill())
				std::memcpy(&Bytes[Block->getAddress() - Range.getStart()],
					    Block->getContent().data(), Block->getSize());
		return Bytes;
	}

	/* Describe the functions of @G. Their code is one range, which nothing else is in. */
	llvm::Error describe(Responsibility &MR, llvm::jitlink::LinkGraph &G)
	{
		llvm::jitlink::Section *Section = G.findSectionByName(".eh_frame");
		auto New = std::make_unique<Code>(Handle.get());
		sframe_unwind_writer *Created;
		ssize_t Size;

		if (!Section || Section->blocks().empty())
			return llvm::Error::success();
		if (int Err = sframe_unwind_writer_create(&Created))
			return failure(Err, "no memory");

		const WriterPtr Writer(Created);
		const llvm::jitlink::SectionRange Range(*Section);
		const std::string Bytes = contents(*Section, Range);
		llvm::DWARFDebugFrame Frames(llvm::Triple::x86_64, true,
					     Range.getStart().getValue());

		if (llvm::Error Err = Frames.parse(llvm::DWARFDataExtractor(Bytes, true, 8)))
			return Err;
		for (const llvm::dwarf::FrameEntry &Entry : Frames)
			if (auto *FDE = llvm::dyn_cast<llvm::dwarf::FDE>(&Entry))
				if (llvm::Error Err = addFunction(*FDE, Writer.get(), *New))
					return Err;

		Size = sframe_unwind_writer_size(Writer.get());
		if (Size == -ENODATA)
			return llvm::Error::success();
		if (Size > 0) {
			New->Section.reset(new unsigned char[Size]);
			New->Size = Size;
			Size = sframe_unwind_writer_write(
				Writer.get(), New->Section.get(), Size,
				reinterpret_cast<uintptr_t>(New->Section.get()));
		}
		if (Size < 0)
			return failure(Size, sframe_unwind_writer_error(Writer.get()));

		std::lock_guard<std::mutex> Lock(Mutex);

		Linked[&MR] = std::move(New);
		return llvm::Error::success();
	}
};

#endif /* SFRAME_UNWIND_ORC_HPP */
